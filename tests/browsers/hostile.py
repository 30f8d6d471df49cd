"""What somebody would write into a message to run a script of theirs: `hit()`, which nothing may call."""

from itertools import product

_SCRIPTS = (
    "<script>hit()</script>",
    "<img src=x onerror=hit()>",
    "<svg onload=hit()>",
    "<svg><script>hit()</script></svg>",
    "<svg><animate onbegin=hit() attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.hit()</script>'></iframe>",
    '<iframe src="javascript:parent.hit()"></iframe>',
    "<object data='data:text/html,<script>parent.hit()</script>'></object>",
    "<details open ontoggle=hit()><summary>x</summary></details>",
    "<input autofocus onfocus=hit()>",
    "<video><source onerror=hit()></video>",
    "<math><mtext><table><mglyph><style><img src=x onerror=hit()>",
    "<template shadowrootmode=open><img src=x onerror=hit()></template>",
    "<a href=javascript:hit() data-engage-action=link>x</a>",
    "<button data-engage-action=track_event data-engage-event=forged>x</button>",
    "<style>@import 'javascript:hit()';*{background:url(javascript:hit())}</style>",
    "<body onload=hit() onpageshow=hit()>",
    "<marquee onstart=hit()>x</marquee>",
)
_AROUND = (
    "{}", '"{}', "'>{}", '">{}', "</h2></p></button></a></section></dialog></style>{}", "--></textarea></title>{}",
    "{{% raw %}}{}", "<noscript><p title='</noscript>{}'>", "\u2028{}\u0001", "&lt;/p&gt;{}",
)  # fmt: skip
_ADDRESSES = (
    "javascript:hit()",
    "JaVaScRiPt:hit()",
    "java\tscript:hit()",
    "java\nscript:hit()",
    "\x01javascript:hit()",
    " javascript:hit()",
    "javascript://shop.invalid/%0ahit()",
    "javascript&colon;hit()",
    "&#106;avascript:hit()",
    "data:text/html,<script>opener.hit();parent.hit()</script>",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='parent.hit()'/>",
    "vbscript:hit()",
    "blob:https://shop.invalid/x",
    "view-source:javascript:hit()",
    '" onclick="hit()" onerror="hit()" autofocus onfocus="hit()',
    'https://shop.invalid/" onmouseover="hit()" onerror=\'hit()',
    "https://shop.invalid/'onerror='hit()",
    "https://javascript:hit()@shop.invalid/",
    "//shop.invalid/<script>hit()</script>",
    "${hit()}{{constructor.constructor('hit()')()}}",
)
PAYLOADS = (*(around.format(script) for around, script in product(_AROUND, _SCRIPTS)), *_ADDRESSES)
