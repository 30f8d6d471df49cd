"""Filters and tags give what Liquid's reference documents, not what the library makes of it.

Each row is a template and its result; the values are in SCOPE below. The results were compared with those of the
reference implementation (ruby-liquid 5.4; of newer filters, with its documentation). What differs on purpose is in
docs/journeys.md: arrays and objects are written as JSON, dates are read as ISO 8601 only, `blank` is what is missing.
"""

import re

from journeys.rendering.environment import TextEnvironment
from journeys.rendering.filters import FILTERS
from tests.journeys.rendering.templates import rendered
from tests.support.cases import each

SCOPE = {
    "phrase": "Ten green bottles on a wall.",
    "code": "SPRING2027",
    "spaced": " \t two  words\n",
    "lines": "one\r\ntwo\nthree",
    "html": '<p>"Fish" & <b>chips</b></p> \'n',
    "list": ["pear", None, "fig", "Apple", "fig"],
    "numbers": [3, 1, 2.5],
    "nested": [[1, 2], [3, [4]]],
    "ten": list(range(1, 11)),
    "abc": ["a", "b", "c"],
    "void": [],
    "orders": [
        {"id": 1, "item": "hat", "paid": True, "left": 0},
        {"id": 2, "item": None, "paid": False},
        {"id": 3, "item": "cap", "paid": True, "left": 2},
        {"id": 4, "paid": None},
    ],
    "pairs": {"x": 1, "y": 2},
    "yes": True,
    "no": False,
    "zero": 0,
    "four": 4,
    "huge": 1e21,
    "when": "2027-03-05T14:07:09.25+01:00",
}

FILTER_ROWS = [
    # Texts
    ("{{ 'sun' | append: '.png' }} {{ 4 | append: 2 }} {{ 'x' | append: nobody }}", "sun.png 42 x"),
    ("{{ '.png' | prepend: 'sun' }}", "sun.png"),
    ("{{ 'one TWO' | capitalize }} {{ '' | capitalize }}", "One two "),
    ("{{ 'Ärger' | upcase }} {{ 'ÄRGER' | downcase }}", "ÄRGER ärger"),
    ("[{{ spaced | strip }}] [{{ '  x ' | lstrip }}] [{{ '  x ' | rstrip }}]", "[two  words] [x ] [  x]"),
    ("[{{ spaced | squish }}] [{{ '  ' | squish }}]", "[two words] []"),
    ("{{ lines | strip_newlines }}", "onetwothree"),
    ("{{ lines | newline_to_br }}", "one<br />\ntwo<br />\nthree"),
    ("{{ html | strip_html }}", "\"Fish\" & chips 'n"),
    ("{{ html | escape }}", "&lt;p&gt;&quot;Fish&quot; &amp; &lt;b&gt;chips&lt;/b&gt;&lt;/p&gt; &#39;n"),
    ("{{ '<b>' | raw }}", "<b>"),
    ("{{ '1 &lt; 2 & 3 > \"4\"' | escape_once }} {{ \"it's\" | escape_once }}",
     "1 &lt; 2 &amp; 3 &gt; &quot;4&quot; it&#39;s"),
    ("{{ \"a'b\" | escapejs }}", r"a\u0027b"),
    ("{{ 'ä b&c' | url_encode }} {{ '%C3%A4+b%26c' | url_decode }}", "%C3%A4+b%26c ä b&c"),
    ("{{ 'a?b>' | base64_encode }} {{ 'YT9iPg==' | base64_decode }}", "YT9iPg== a?b>"),
    ("{{ '??>>' | base64_url_safe_encode }} {{ 'Pz8-Pg==' | base64_url_safe_decode }}", "Pz8-Pg== ??>>"),
    ("{{ 'a-b-a' | replace: 'a', 'x' }} {{ 'a-b-a' | replace: 'a' }} {{ 'ab' | replace: '', '.' }}", "x-b-x -b- .a.b."),
    ("{{ 'a-b-a' | replace_first: 'a', 'x' }} {{ 'a-b-a' | replace_last: 'a', 'x' }}", "x-b-a a-b-x"),
    ("{{ 'a-b-a' | remove: 'a' }} {{ 'a-b-a' | remove_first: 'a' }} {{ 'a-b-a' | remove_last: 'a' }}", "-b- -b-a a-b-"),
    ("{{ 'a, b,,c,,' | split: ',' }}", '["a"," b","","c"]'),
    ("{{ ' a  b ' | split: ' ' }} {{ 'abc' | split: '' }} {{ '' | split: ',' }}", '["a","b"] ["a","b","c"] []'),
    ("{{ ',,' | split: ',' | size }} {{ ',' | split: ',' | size }} {{ 'x' | split: ',' }}", '0 0 ["x"]'),
    ("{{ code | truncate: 10 }} {{ code | truncate: 9 }}", "SPRING2027 SPRING..."),
    ("{{ code | truncate: 5, '' }} {{ code | truncate: 6, '--' }}", "SPRIN SPRI--"),
    ("{{ code | truncate: 8, ', and so on' }} {{ code | truncate: 2 }} {{ code | truncate: 0 }}",
     ", and so on ... ..."),
    ("{{ code | truncate }} {{ code | truncate: '8' }} {{ code | truncate: 8, nobody }}",
     "SPRING2027 SPRIN... SPRING20"),
    ("{{ phrase | append: phrase | truncate }}", "Ten green bottles on a wall.Ten green bottles o..."),
    ("{{ phrase | truncatewords: 6 }} {{ phrase | truncatewords: 7 }}",
     "Ten green bottles on a wall. Ten green bottles on a wall."),
    ("{{ phrase | truncatewords: 2 }} {{ phrase | truncatewords: 2, '--' }}", "Ten green... Ten green--"),
    ("{{ phrase | truncatewords: 1, '' }} {{ phrase | truncatewords: 0 }} {{ 'one' | truncatewords: 1 }}",
     "Ten Ten... one"),
    ("[{{ 'a  b' | truncatewords: 2 }}] [{{ 'a  b c' | truncatewords: 2 }}]", "[a  b] [a b...]"),
    # Arrays
    ("{{ list | compact }} {{ void | compact }}", '["pear","fig","Apple","fig"] []'),
    ("{{ orders | map: 'item' | compact | join: '/' }} {{ orders | map: 'nothing' | compact | size }}", "hat/cap 0"),
    ("{{ orders | compact: 'item' | map: 'id' | join }}", "1 3"),
    ("{{ numbers | concat: abc }} {{ void | concat: void }}", '[3,1,2.5,"a","b","c"] []'),
    ("{{ orders | find: 'id', 3 | map: 'item' }} {{ orders | find: 'paid' | map: 'id' }}", '["cap"] [1]'),
    ("[{{ orders | find: 'id', 9 }}] [{{ void | find: 'id', 9 }}]", "[] []"),
    ("{{ orders | find_index: 'id', 3 }} [{{ orders | find_index: 'id', 9 }}] {{ orders | find_index: 'left' }}",
     "2 [] 0"),
    ("{{ orders | has: 'item', 'hat' }} {{ orders | has: 'item', 'sock' }} {{ void | has: 'item' }}",
     "true false false"),
    ("{{ orders | has: 'left', 0 }} {{ orders | has: 'paid', 1 }}", "true false"),
    ("{{ abc | first }}{{ abc | last }} [{{ void | first }}] {{ abc.first }}{{ abc.last }}", "ac [] ac"),
    ("{{ abc | join }} {{ abc | join: '-' }} {{ list | join: ',' }} {{ abc | join: nobody }}",
     "a b c a-b-c pear,,fig,Apple,fig abc"),
    ("{{ nested | join: ',' }} {{ 'x' | join: ',' }} {{ (1..3) | join: ',' }}", "1,2,3,4 x 1,2,3"),
    ("{{ orders | map: 'id' }} {{ orders | map: 'item' }}", '[1,2,3,4] ["hat",null,"cap",null]'),
    ("{{ orders | reject: 'paid' | map: 'id' }} {{ orders | reject: 'item', 'hat' | map: 'id' }}", "[2,4] [2,3,4]"),
    ("{{ orders | where: 'paid' | map: 'id' }} {{ orders | where: 'paid', false | map: 'id' }}", "[1,3] [2]"),
    ("{{ orders | where: 'left' | map: 'id' }} {{ orders | where: 'left', 0 | map: 'id' }}", "[1,3] [1]"),
    ("{{ orders | where: 'paid', 1 | size }} {{ orders | where: 'nothing' | size }}", "0 0"),
    ("{{ abc | reverse }} {{ void | reverse }} {{ (1..3) | reverse }}", '["c","b","a"] [] [3,2,1]'),
    ("{{ list | sort }}", '["Apple","fig","fig","pear",null]'),
    ("{{ list | sort_natural }}", '["Apple","fig","fig","pear",null]'),
    ("{{ 'b,A,C,a' | split: ',' | sort }} {{ 'b,A,C,a' | split: ',' | sort_natural }}",
     '["A","C","a","b"] ["A","a","b","C"]'),
    ("{{ 'z,~' | split: ',' | concat: list | sort_natural | last | default: 'null' }}", "null"),
    ("{{ numbers | sort }} {{ numbers | sort_natural }}", "[1,2.5,3] [1,2.5,3]"),
    ("{{ orders | sort: 'item' | map: 'id' }} {{ orders | sort_natural: 'item' | map: 'id' }}", "[3,1,2,4] [3,1,2,4]"),
    ("{{ numbers | sum }} {{ nested | sum }} {{ void | sum }} {{ list | sum }}", "6.5 10 0 0"),
    ("{{ orders | sum: 'id' }} {{ orders | sum: 'left' }} {{ orders | sum: 'item' }} {{ (1..4) | sum }}", "10 2 0 10"),
    ("{{ '1,2.5,x,3 kg' | split: ',' | sum }}", "6.5"),
    ("{{ list | uniq }} {{ orders | uniq: 'paid' | map: 'id' }}", '["pear",null,"fig","Apple"] [1,2,4]'),
    # Numbers
    ("{{ -7 | abs }} {{ 7 | abs }} {{ '-19.86' | abs }} {{ 'x' | abs }}", "7 7 19.86 0"),
    ("{{ 4 | at_least: 5 }} {{ 4 | at_least: 3 }} {{ '4' | at_least: 3.5 }} {{ yes | at_least: 0 }}", "5 4 4 0"),
    ("{{ 4 | at_most: 5 }} {{ 4 | at_most: 3 }} {{ 4 | at_most: '3.5' }}", "4 3 3.5"),
    ("{{ 1.2 | ceil }} {{ 2.0 | ceil }} {{ '3.5' | ceil }} {{ -1.5 | ceil }} {{ 'x' | ceil }}", "2 2 4 -1 0"),
    ("{{ 1.2 | floor }} {{ 2.0 | floor }} {{ '3.5' | floor }} {{ -1.5 | floor }}", "1 2 3 -2"),
    ("{{ 16 | divided_by: 4 }} {{ 5 | divided_by: 3 }} {{ -5 | divided_by: 3 }}", "4 1 -2"),
    ("{{ 20 | divided_by: 7.0 }} {{ 20 | divided_by: 8.0 }} {{ 0.1 | divided_by: 0.3 }}",
     "2.857142857142857 2.5 0.3333333333333333"),
    ("{{ 4 | minus: 2 }} {{ 183.357 | minus: 12 }} {{ 0.3 | minus: 0.1 }}", "2 171.357 0.2"),
    ("{{ 4 | plus: 2 }} {{ 183.357 | plus: 12 }} {{ 0.1 | plus: 0.2 }} {{ '3' | plus: '4.5' }}", "6 195.357 0.3 7.5"),
    ("{{ '12 kg' | plus: 1 }} {{ 'kg' | plus: 1 }} {{ yes | plus: 1 }} {{ nobody | plus: 1 }}", "13 1 1 1"),
    ("{{ 3 | times: 2 }} {{ 183.357 | times: 12 }} {{ 1.1 | times: 1.1 }}", "6 2200.284 1.21"),
    ("{{ 24 | modulo: 7 }} {{ 183.357 | modulo: 12 }} {{ 3 | modulo: 2 }}", "3 3.357 1"),
    ("{{ -7 | modulo: 3 }} {{ -7 | modulo: 2.5 }} {{ 2.5 | modulo: -2 }} {{ -5.0 | modulo: 2.5 }}", "2 0.5 -1.5 0.0"),
    ("{{ 1.2 | round }} {{ 2.7 | round }} {{ 183.357 | round: 2 }}", "1 3 183.36"),
    ("{{ 0.5 | round }} {{ 1.5 | round }} {{ 2.5 | round }} {{ -2.5 | round }}", "1 2 3 -3"),
    ("{{ 0.125 | round: 2 }} {{ 2.675 | round: 2 }} {{ 1.25 | round: 1 }} {{ -0.25 | round: 1 }}",
     "0.13 2.68 1.3 -0.3"),
    ("{{ 7 | round: 2 }} {{ 7.0 | round: 2 }} {{ '2.5' | round }} {{ 2.5 | round: nobody }}", "7 7.0 3 3"),
    ("{{ 1234.5 | round: -2 }} {{ 15 | round: -1 }} {{ -15 | round: -1 }} {{ 1234 | round: -9 }}", "1200 20 -20 0"),
    # Anything
    ("{{ nobody | default: 'x' }} {{ '' | default: 'x' }} {{ no | default: 'x' }} {{ void | default: 'x' }}",
     "x x x x"),
    ("{{ zero | default: 'x' }} {{ ' ' | default: 'x' }}| {{ no | default: 'x', allow_false: true }}", "0  | false"),
    ("{{ phrase | size }} {{ abc | size }} {{ pairs | size }} {{ nobody | size }} {{ phrase.size }} {{ abc.size }}",
     "28 3 2 0 28 3"),
    ("{{ 'Liquid' | slice: 0 }} {{ 'Liquid' | slice: 2 }} {{ 'Liquid' | slice: 2, 5 }} {{ 'Liquid' | slice: -3, 2 }}",
     "L q quid ui"),
    ("[{{ 'ab' | slice: 9 }}{{ 'ab' | slice: -9, 5 }}{{ 'ab' | slice: 1, 0 }}{{ 'ab' | slice: 1, -1 }}]",
     "[]"),
    ("{{ abc | slice: 1 }} {{ abc | slice: 1, 5 }} {{ abc | slice: -2, 2 }} {{ abc | slice: -4, 2 }}",
     '["b"] ["b","c"] ["b","c"] []'),
    ("{{ when | date: '%a, %b %d, %y' }} {{ when | date: '%Y' }} {{ when | date: '%-d/%-m' }}",
     "Fri, Mar 05, 27 2027 5/3"),
    ("{{ when | date: '%H:%M:%S.%L %N %3N %z %:z %s' }}", "14:07:09.250 250000000 250 +0100 +01:00 1804252029"),
    ("{{ when | date: '%A %B %j %U %w %I %p %%L' }} {{ 0 | date: '%F %T.%L' }}",
     "Friday March 064 09 5 02 PM %L 1970-01-01 00:00:00.000"),
    ("{{ 'now' | date: '%F' }} {{ 'soon' | date: '%F' }} {{ when | date: '' }} [{{ nobody | date: '%F' }}]",
     "2026-11-20 soon 2027-03-05T14:07:09.25+01:00 []"),
    # Of our own
    ("{{ when | date: '%F %H:%M %Z', 'America/New_York' }} {{ 'now' | date: '%R', 'Asia/Kolkata' }}",
     "2027-03-05 08:07 EST 17:30"),
    ("{{ '2027-03-05' | date: '%F %R %Z', 'America/New_York' }} {{ '2027-03-05 14:07' | date: '%F %R', 'Asia/Tokyo' }}",
     "2027-03-05 00:00 EST 2027-03-05 14:07"),
    ("{{ '2027-03-05' | date: '%F %R %Z' }} {{ '2027-03-05' | date: '%F %Z', nobody }}",
     "2027-03-05 00:00 UTC 2027-03-05 UTC"),
    ("{{ 12 | money }} {{ huge | money: 2 }} {{ '2.675' | money: 2 }} {{ -0.001 | money: 2 }} [{{ nobody | money }}]",
     "12.00 1000000000000000000000.00 2.68 0.00 []"),
    ("{{ orders | first | json }} {{ code | json }} {{ yes | json }} {{ nobody | json }}",
     '{"id":1,"item":"hat","paid":true,"left":0} "SPRING2027" true null'),
    ("{{ 'abc' | sha256 }} [{{ nobody | sha256 }}]",
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad []"),
]  # fmt: skip

# What loops go over, one after the other, each with the name x, and what they write.
LOOP_ROWS = [
    (["abc", "abc reversed", "void", "nobody", "phrase"], "abc/cba/-/-/Ten green bottles on a wall."),
    (["ten limit: 2", "ten offset: 8", "ten limit: 2 offset: 2", "ten limit: 2, offset: 2"], "12/910/34/34"),
    (["ten limit: 0", "ten limit: -1", "abc limit: nobody", "abc limit: 99", "abc limit: '2'"], "-/-/abc/abc/ab"),
    (["abc offset: 3", "abc offset: nobody", "ten reversed limit: 2"], "-/abc/21"),
    (["(1..four)", "(3..1)", "(-1..1)", "('2'..'4')", "(1..four) limit: 0"], "1234/-/-101/234/-"),
    *(
        ([f"{over} limit: 2", f"{over} limit: 3 offset: continue", f"{over} offset: continue"], "12/345/678910")
        for over in ("ten", "(1..10)", "( 1 .. 10 )")
    ),
    (["(1..four) limit: 1", "(1..four) offset: continue", "(1..four) offset: continue"], "1/234/-"),
    (["(1..4) limit: 1", "(1..5) offset: continue", "(1..4) offset: continue"], "1/12345/234"),
    (["ten limit: 2", "ten limit: 0 offset: continue", "ten offset: continue limit: 1"], "12/-/3"),
    (["(1..5) limit: 1", "(1..5) limit: 1 offset: 2", "(1..5) offset: continue"], "1/3/45"),
]


HOLDS = [
    "true or false and false", "four == 4.0", "four != '4'", "'4' <> 4", "yes != 1", "zero != no", "four > 3",
    "four >= 4", "four < 5", "four <= 4", "'b' > 'a'", "nobody == nil", "nil == nobody", "abc contains 'b'",
    "phrase contains 'green'", "numbers contains 1", "void == empty", "'' == empty", "abc != empty",
    "nobody != empty", "nobody == blank", "'  ' == blank", "abc", "zero", "''", "void",
]  # fmt: skip
FAILS = [
    "true and false and false or true", "nobody > 1", "nobody < 1", "nil >= 1", "abc contains 'z'", "nobody",
    "phrase contains 'red'", "nobody contains 'x'", "list contains nobody", "no", "nil", "abc == 'a'", "zero == blank",
]  # fmt: skip


def _loops(over: list[str]) -> str:
    return "/".join(f"{{% for x in {one} %}}{{{{ x }}}}{{% else %}}-{{% endfor %}}" for one in over)


TAG_ROWS = [
    *((_loops(over), result) for over, result in LOOP_ROWS),
    *((f"{{% if {one} %}}holds{{% else %}}fails{{% endif %}}", "holds") for one in HOLDS),
    *((f"{{% if {one} %}}holds{{% else %}}fails{{% endif %}}", "fails") for one in FAILS),
    ("{% for p in pairs %}{{ p[0] }}={{ p[1] }};{{ p.first }}{{ p.last }} {% endfor %}", "x=1;x1 y=2;y2 "),
    ("{% for x in (1..4) limit: 1 %}{{ x }}{% endfor %} {% for y in (1..4) offset: continue %}{{ y }}{% endfor %}",
     "1 1234"),
    ("{% for x in (1..5) limit: 3 %}{% break %}{% endfor %}{% for x in (1..5) offset: continue %}{{ x }}{% endfor %}",
     "45"),
    ("{% for x in abc %}{% if x == 'b' %}{% continue %}{% endif %}{{ x }}{% endfor %}", "ac"),
    ("{% for x in abc %}{% if x == 'b' %}{% break %}{% endif %}{{ x }}{% endfor %}", "a"),
    ("{% for x in abc %}{{ forloop.index }}{{ forloop.index0 }}{{ forloop.rindex }}{{ forloop.rindex0 }} {% endfor %}",
     "1032 2121 3210 "),
    ("{% for x in abc %}{{ forloop.first }}/{{ forloop.last }}/{{ forloop.length }} {% endfor %}",
     "true/false/3 false/false/3 false/true/3 "),
    ("{% for x in abc %}{% for y in abc %}{{ forloop.parentloop.index }}{{ forloop.index }} {% endfor %}{% endfor %}",
     "11 12 13 21 22 23 31 32 33 "),
    ("{% for x in abc %}{% unless forloop.last %}{{ x }}, {% else %}{{ x }}{% endunless %}{% endfor %}{{ x }}",
     "a, b, c"),
    # Conditions
    ("{% if no %}1{% elsif yes %}2{% else %}3{% endif %}{% if nobody %}1{% else %}2{% endif %}", "22"),
    ("{% if '' %}1{% endif %}{% if zero %}2{% endif %}{% if void %}3{% endif %}{% unless no %}4{% endunless %}",
     "1234"),
    ("{% unless yes %}1{% elsif yes %}2{% else %}3{% endunless %}", "2"),
    ("{% case four %}{% when 1, 4 %}a{% when 4 or 5 %}b{% else %}c{% endcase %}", "ab"),
    ("{% case 'x' %}{% when 'y' %}a{% else %}c{% endcase %}{% case four %}{% when '4' %}a{% endcase %}|", "c|"),
    # Variables and the rest
    ("{% assign x = 'a' | upcase | append: 'b' %}{{ x }}{% assign x = nobody %}[{{ x }}]", "Ab[]"),
    ("{% for x in (1..3) %}{% assign y = x %}{% endfor %}{{ y }}{{ x }}", "3"),
    ("{% capture x %}{{ four }} {{ abc.size }}{% endcapture %}{{ x | size }}[{% capture y %} {% endcapture %}{{ y }}]",
     "3[ ]"),
    ("{% increment n %}{% increment n %}{{ n }}{% decrement n %}{% decrement m %}{% decrement m %}", "0121-1-2"),
    ("{% assign n = 10 %}{% increment n %}{% increment n %}{{ n }}", "0110"),
    ("{% echo four | plus: 1 %}{% liquid if four == 4\n echo 'y'\n endif\n for k in abc\n echo k\n endfor %}",
     "5yabc"),
    ("{% # one line %}{% comment %}{{ nobody }}{% if %}{% endcomment %}x{% liquid # two\n echo 1 %}", "x1"),
    ("a {{- ' b ' -}} c {%- if yes -%} d {%- endif -%} e", "a b cde"),
    ("[{% if yes %} {% endif %}{% for x in abc %}\n{% endfor %}]", "[]"),
    ("{{ abc[0] }}{{ abc[-1] }}{{ abc[9] }}{{ pairs['x'] }}{{ pairs.y }}{{ phrase.first }}", "ac12"),
]  # fmt: skip


@each("text, result", [*FILTER_ROWS, *TAG_ROWS])
def test_it_is_written_as_the_reference_documents(text: str, result: str) -> None:
    assert rendered(text, **SCOPE) == result


def test_every_filter_and_tag_has_a_row() -> None:
    filters = " ".join(text for text, _ in FILTER_ROWS)
    assert set(re.findall(r"\| *(\w+)", filters)) >= set(FILTERS)
    tags = set(re.findall(r"(?:{%-? *|\n *)(\w+|#)", " ".join(text for text, _ in TAG_ROWS)))
    assert tags >= set(TextEnvironment().tags) - {"content", "illegal", "output"}
