"""Words that a query asks for without meaning them, by Snowball language; data only.

Dropped from queries, never from the index. Written without accents and in lower case, as the
analyzer folds them. Short on purpose: words that can also be names or facts ("may", "will",
"not") are left out. A language that is absent has none.
"""

_ENGLISH = """
a about am an and any are aren't as at be because been being but by can can't could couldn't did
didn't do does doesn't doing don't for from had hadn't has hasn't have haven't having he he'd he'll
her hers herself him himself his how i i'd i'll i'm i've if in into is isn't it itself me my myself
of on or our ours ourselves she she'd she'll should shouldn't so some such than that the their
theirs them themselves then there these they they'd they'll they're they've this those to too
very was wasn't we we'd we'll we're we've were weren't what when where which while who whom whose
why with would wouldn't you you'd you'll you're you've your yours yourself yourselves
"""
_GERMAN = """
aber als am an auch auf aus bei bin bist da das dass dein deine dem den der des die dir du durch ein
eine einem einen einer eines er es fur hat hatte hatten habe haben ich ihm ihn ihr ihre im in ist
kann man mein meine mich mir mit nach oder sein seine sich sie sind so uber um und uns unser unter
vom von vor wann war waren warum was welche welcher welches wem wen wenn wer wie wir wird wo wurde
zu zum zur
"""
_FRENCH = """
a au aux avec c ce ces cet cette comment d dans de des donc du elle elles en es est et etait eu eux
il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou par
pour pourquoi qu quand que quel quelle quels quelles qui quoi s sa se ses son sont sur t ta te tes
toi ton tu un une vos votre vous y
"""
_SPANISH = """
a al ante como con cual cuales cuando de del desde donde el ella ellas ellos en entre era es esa ese
eso esta estaba estan este esto fue ha han hasta la las le les lo los me mi mis muy nos nosotros o
para pero por porque que quien quienes se ser si sin sobre son su sus te tu tus un una uno unos y yo
"""
_ITALIAN = """
a ad agli ai al alla alle anche c che chi ci come con cosa cui d da dagli dai dal dalla dalle dei
del della delle di dove e ed era gli ha hanno ho i il in io l la le lei li lo loro lui ma mi mia mio
ne nei nel nella noi o per perche quale quando questa questo se si sono sta su sua sul sulla suo ti
tra tu un una uno vi voi
"""
_PORTUGUESE = """
a ao aos as com como da das de do dos e ela elas ele eles em era essa esse esta estava este eu foi
foram ha isso isto ja lhe mas me meu minha na nas no nos o onde os ou para pela pelo por porque qual
quando que quem se sem ser seu seus sua suas tem um uma voce
"""
_DUTCH = """
aan als bij dan dat de der deze die dit door een en er had heb hebben heeft het hij hoe ik in is je
kan maar me men met mij mijn naar of om onder ook op over te tot uit van voor waar waarom wanneer
waren was wat we welke werd wie wij ze zich zij zijn zo
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
}
