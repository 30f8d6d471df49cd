"""Templates of journeys: Liquid without files, with limits, and with a record of the variables that had no value.

- The scope is the caller's: plain JSON values under `customer`, `api`, `event`, `journey`, `enrollment` and `now`.
- Allowed tags: assign, capture, case, comment, decrement, echo, for (break, continue), if, increment, liquid, unless.
- A value that is absent or null is empty, and its full path is noted once, when it is written, filtered or looped
  over. It is not noted if it is only tested (`if`, `unless`, `case`), nor before the filters `default` and `size`.
- A string is written unchanged; anything else is written as compact JSON.
- Whatever the templates of a step and their values are, rendering them ends within a fraction of a second, with text
  or with RenderingFailed.

1. template.py: a template, parsed, with its expressions (expressions.py); paths.py: the name of a value, parsed.
   failures.py: what may be wrong with them; names.py: which names are known; arguments.py: what each filter takes.
2. environment.py: the dialect, with blanks.py, missing.py and ranges.py, where the library's is another;
   escaping.py: what of it escapes markup.
3. filters.py: all filters, of which text_filters.py, number_filters.py, array_filters.py, dates.py and markup.py are
   our own.
4. rendering.py: one step's rendering; context.py: how much work is left; values.py: how values are written.
"""

from journeys.rendering.escaping import escaped
from journeys.rendering.failures import InvalidTemplate, RenderingFailed
from journeys.rendering.names import NAMES, Names, may_have_a_value, names_in_words
from journeys.rendering.paths import ValuePath, parse_path
from journeys.rendering.rendering import Rendering
from journeys.rendering.template import Template, is_template, parse_template, parse_url_template

__all__ = [
    "NAMES",
    "InvalidTemplate",
    "Names",
    "Rendering",
    "RenderingFailed",
    "Template",
    "ValuePath",
    "escaped",
    "is_template",
    "may_have_a_value",
    "names_in_words",
    "parse_path",
    "parse_template",
    "parse_url_template",
]
