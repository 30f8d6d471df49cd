"""The web server: receives requests whole, calls WSGI in a few threads, and sends the answers.

One thread of each process, the loop, holds all its connections. It receives whole requests and sends whole answers,
each within a deadline. Only what has arrived completely reaches one of the threads that call the application, and a
thread is free again once its answer is made, not once it is read. So a caller who stalls costs a connection and some
memory, both bounded, and no thread. `/livez` is answered by the loop, and what asks PostgreSQL about the service's
state has a thread of its own, so that neither waits behind calls.

- The main process: __main__.py, with children.py, and handover.py for the socket; options.py says what the environment
  tells it.
- A process that serves: worker.py, whose waiting requests take turns (turns.py).
- A connection: connection.py, with incoming.py for its requests (requests.py reads them) and outgoing.py for their
  answers (long ones go through spool.py).
- A call in a thread: calls.py, with answers.py; what does not get there is refused by refusals.py.

Why no server of others: granian, which served before, has no deadline for answers in any of its interfaces. As RSGI it
buffers a streamed answer without a bound, and takes a body in chunks that broke off for one that ended. gunicorn's
threads begin a call before its body is there. waitress holds requests back until they are whole, but takes half as much
time again. Processor time of `web` for a call, beside granian's WSGI in the same run (medians of two to four runs in
turn, on two cores that others used at the same time, so they are good for a tenth or so):

                                        a view that does nothing   bridge action   single trigger
    granian, WSGI: 0.36, 1.3, 1.5 ms              1                      1               1
    granian, RSGI, threads of our own             1.11                   0.92            0.92
    asyncio, threads of our own (this)            0.94                   0.91            1.1
    the same on uvloop                            0.87                   0.94            1.1
    epoll, threads of our own                     0.91                   0.88            1.1
    waitress                                      1.7                    1.2             1.4
"""
