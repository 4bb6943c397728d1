"""Words that are no name when they stand alone, and headings that name nothing; data only.

Function words of eight languages, and what English sentences, chats and manuals begin with.
Lower case. A name of several words may contain them.
"""

_ENGLISH = """
got gotta oof yum ugh
a about above absolutely according actually after again against all almost along already also
although always am amazing an and another any anyone anything anyway apart apr april are around as
aside ask assume at aug august avoid aw away awesome aww back based be because been before behind
being below beside besides bet between beyond both brand bring btw build but by bye call can
cannot change check cheers choose come compare configure congrats congratulations consider cool
copy could crazy create currently damn dear dec december default definitely delete depending
despite did do does doing done down dr drop due during each earlier easy either else enable enjoy
ensure enter error especially even eventually ever every everybody everyone everything everywhere
exactly example excellent except false fantastic feb february few figure finally find fine first
five fix follow following for four fri friday from full further fyi generally get getting give
given giving glad go goal goes going gonna good goodbye gosh gotcha great had haha half happy hard
has have having he hello help hence her here hers herself hey hi high him himself his hmm hold
hope hopefully how however huge i idk if imagine important in include including indeed info
initially input inside install instead interesting into is it its itself jan january jul july jun
june just keep know large last lastly later least left less let like likewise list listen load lol
long look looking looks lots lovely low main make making many mar march may maybe me mean
meanwhile might mine mm mon monday more moreover most mostly move mr mrs ms much must my myself
name namely nearly need neither never nevertheless new next nice no nobody none nope nor normally
not note nothing notice nov november now nowadays null number oct october of off often oh ok okay
old omg on once one only open option optional optionally options or originally other others
otherwise ought our ours ourselves out output outside over overall own page part perhaps phew plan
please plus possible prefer press pretty previously prior probably prof put quick quite rather
read ready really recall recently regarding remember remind reminder remove replace required
result return right run same sample sat saturday save saw say second section see seems select send
sep sept september set several shall she should show similarly since six skip small so some
somebody someone something sometimes somewhere soon sorry sound sounds specify start step still
stop store such sun sunday suppose sure sweet table take takes taking tell ten test than thank
thanks that the their theirs them themselves then there therefore these they thing things think
third this those though three through throughout thu thursday thus thx tip to today todo together
tomorrow tonight too totally toward towards true try trying tue tuesday turn two type typically
ugh under unfortunately unless unlike until up update upon us use used user using usually value
verify very via view wait wanna want warning was watch way we wed wednesday welcome well went were
what whatever when whenever where whereas wherever whether which whichever while who whoa whoever
whom whose why will wish with within without woah wonderful woohoo work working works would wow
write ya yay yeah year years yep yes yesterday yet you your yours yourself yourselves yup zero
"""
_GERMAN = """
aber alle allem allen aller alles als also am an andere anderen auch auf aus außerdem bei beide
beim bin bis bitte da dabei dadurch dafür dagegen daher damals damit danach dann daran darauf
daraus darin darum das dass davon davor dazu dein deine deinen dem den denn dennoch der deren des
deshalb dezember dich die dienstag dies diese diesem diesen dieser dieses dir doch donnerstag dort
du durch ein eine einem einen einer eines einige er es etwas euch euer falls februar freitag für
gegen gibt habe haben hallo hast hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem
ihren ihrer im in indem ist ja januar jede jedem jeden jeder jedes jedoch jemand jetzt juli juni
kann kannst kein keine keinen können könnte mai man manche mein meine meinem meinen mich mir mit
mittwoch montag muss märz möchte müssen nach nachdem nein nicht nichts niemand noch nun nur ob
obwohl oder ohne oktober samstag schon sehr sein seine seinem seinen seiner seit sich sie sind so
sobald sofern solche soll sollte sondern sonntag sonst sowie statt trotz trotzdem um und uns unser
unsere unter vom von vor wann war waren warum was wegen weil welche welcher welches wem wen wenn
wer werden wessen wie wieder wir wird wo wobei wurde wurden während zu zuerst zum zur zwar
zwischen über
"""
_FRENCH = """
aujourd
a afin ainsi alors août après au aucun aucune aussi autre aux avant avec avoir avril bien bonjour
bonsoir car ce ceci cela celle celui certains ces cet cette chaque chez comme comment contre dans
de depuis des dimanche donc dont du décembre déjà elle elles en encore enfin ensuite entre est et
eux faire fait février il ils janvier je jeudi juillet juin la le les leur leurs lors lorsque lui
lundi là ma mais malgré mardi mars me merci mercredi mes moi moins mon même ne nos notre nous
nouveau novembre octobre on ont ou oui où par parce parfois pendant plus plusieurs pour pourquoi
pourtant puis puisque quand que quel quelle quelques quels qui quoi sa samedi sans se selon
septembre ses si sinon soit son sont sous sur ta tes toi ton tous tout toute toutefois toutes tu
un une vendredi vers voici voilà vos votre vous y à ça était être
"""
_SPANISH = """
abril agosto ahora al algo alguien algunas algunos allí antes aquí así aunque bien cada casi como
con contra cuando cuál cómo de del desde después diciembre domingo donde dos durante dónde el ella
ellas ellos en enero entonces entre era es esa ese eso esta estaba estas este esto estos está
están febrero fue gracias ha hace hacia han hasta hay hola hoy jueves julio junio la las le les lo
los luego lunes martes marzo mayo me mi mientras mis miércoles mucho muchos muy más ni nos
nosotros noviembre nunca o octubre otra otro para pero poco por porque pues que quien quizás qué
se según septiembre ser si siempre sin sobre solo son su sus sábado sí también tampoco tan tanto
te tiene toda todas todo todos tras tu tus un una uno unos usted viernes y ya yo él
"""
_ITALIAN_PORTUGUESE = """
a ad agli agora ai ainda al alla alle allora além anche ancora antes ao aos apenas as assim até
bem che chi ci ciao com come como con cosa così cosí cui da dal dalla das de degli dei del della
delle depois di do dopo dos dove dunque e ed ela elas ele eles em entre era essa esse esta estas
este estes eu foi fra gli grazie ha hanno ho i il in inoltre invece io isso isto já l la lei li lo
loro lui ma mai mais mas me mentre mesmo mi mia mio molto muito na nas negli nei nel nella no noi
non nos nossa nosso nunca não né o obrigada obrigado oggi ogni ok olá onde oppure os ou para pela
pelo per perché perciò però poi poiché por porque porém prima puoi pur qual quale quando quanto
quasi que quella quelle quello quem questa queste questi questo qui quindi se sem sempre senza ser
seu seus si sia solo sono sopra sta stato su sua suas sui sul sulla suo também tra tu tutti tutto
têm um uma un una uno vi você voi à às è é
"""
_DUTCH = """
aan al alle alleen als altijd andere bij daar daarom dan dat de deze die dit doen door dus een
elke en er geen haar heb hebben heeft het hier hij hoe hun ik in is ja je jij kan maar me meer men
met mij mijn na naar nee niet niets nog nu of om omdat onder ons onze ook op over te tegen toch
toen tot u uit van veel voor waar waarom wanneer want waren was wat we wel welke werd wie wij
worden wordt ze zich zij zijn zo zonder zou
"""
_RUSSIAN = """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да для до его
ее если есть еще же за здесь и из или им их к как какой когда кто ли меня мне мы на над надо наш
не нет ни но ну о об однако он она они оно от очень по под после потому почему при с сейчас со так
также такой там тебя тем то тогда тоже только том тот ты у уже хотя чего чем что чтобы эта эти это
этот я
"""

NEVER_ALONE: frozenset[str] = frozenset(
    " ".join((_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN_PORTUGUESE, _DUTCH, _RUSSIAN)).split()
)
# First words of many names (New York, Great Britain), though no name alone.
_MAY_BEGIN_A_NAME = """
april august black build dear december dr early february fifth first five four fourth friday full
good great half happy hard high january jul july june large last little long low main many march may
monday new next ninth november october old one open own prime public right saturday second september
seven sixth six small some south sunday super sweet ten third three thursday true tuesday two united
upper wednesday will world yellow young enjoy work watch look love lower mean sample table
"""
NEVER_FIRST: frozenset[str] = NEVER_ALONE - frozenset(_MAY_BEGIN_A_NAME.split())
# These are names when written in capitals.
ACRONYMS: frozenset[str] = frozenset({"AI", "AM", "EU", "IT", "UN", "US", "WHO"})

GENERIC_HEADINGS: frozenset[str] = frozenset(
    part.strip()
    for part in """
abstract, about, acknowledgements, acknowledgments, api, appendix, background, basics, bugs,
changelog, changes, checklist, comments, conclusion, conclusions, configuration, content, contents,
context, contributing, credits, decision, definitions, dependencies, description, design, details,
development, discussion, documentation, done, example, examples, faq, features, files,
further reading, future work, general, getting started, glossary, goal, goals, how it works,
how to,
ideas, implementation, index, info, installation, installing, introduction, issues, journal,
known issues,
license, licence, limitations, links, list, log, meeting notes, methods, misc, miscellaneous,
motivation, next steps, next, non-goals, notes, note, objectives, open questions, options,
other, outline, overview, parameters, prerequisites, problem, purpose, questions, quick start,
quickstart, readme, reference, references, related, related work, release notes, requirements,
resources, results, return value, roadmap, scope, see also, setup, solution, sources, status,
summary, support, syntax, table of contents, tasks, team, testing, tests, the problem, the solution,
tips, tl;dr, todo, to do, troubleshooting, usage, use cases, what's next, why, warning, untitled,
anhang, beispiel, beispiele, einleitung, einführung, inhalt, notizen, quellen, übersicht,
verwendung, ziel, ziele, zusammenfassung, ejemplos, introducción, notas, referencias, resumen,
conclusion, exemples, références, sommaire
""".replace("\n", " ").split(",")
)
