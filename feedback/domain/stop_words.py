"""List the words that carry no topic, by language."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ENGLISH: Final = """
a about above after again against all almost also although always am among an and another any anybody anyone
anything are aren't around as at away be because been before being below between both but by came can can't
cannot could couldn't did didn't do does doesn't doing don't done down during each either else ever every
everybody everyone everything few for from further get gets getting give given go goes going gone got had hadn't
has hasn't have haven't having he he'd he'll he's her here hers herself him himself his how however i i'd i'll
i'm i've if in into is isn't it it'd it'll it's its itself just let like made make many may me might mine more
most much must mustn't my myself neither never no nobody none nor not nothing now of off often on once one only
onto or other others otherwise ought our ours ourselves out over own per perhaps quite rather really same shall
shan't she she'd she'll she's should shouldn't since so some somebody someone something sometimes somewhere
still such than that that'd that'll that's the their theirs them themselves then there there's therefore these
they they'd they'll they're they've thing things this those though through thus till to together too toward
towards under unless until up upon us very via was wasn't we we'd we'll we're we've went were weren't what
what's whatever when whenever where where's wherever whether which while who who's whoever whole whom whose why
will with within without won't would wouldn't yes yet you you'd you'll you're you've your yours yourself
yourselves
"""

_GERMAN: Final = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei
beim bin bis bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf darüber das dass dasselbe
davon dazu dein deine deinem deinen deiner dem den denn der des deshalb dessen die dies diese dieselbe diesem
diesen dieser dieses doch dort du durch ein eine einem einen einer eines einige einigem einigen einiger einiges
einmal er es etwas euch euer eure eurem euren eurer für gegen gehabt gewesen gibt hab habe haben hast hat hatte
hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins ist ja jede jedem jeden
jeder jedes jene jenem jenen jener jenes jetzt kann kannst kein keine keinem keinen keiner können könnte machen
man manche manchem manchen mancher manches mehr mein meine meinem meinen meiner mich mir mit möchte muss müssen
nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner selbst sich sie sind so
sogar solche solchem solchen solcher sollte sondern sonst soll sollen über um und uns unser unsere unserem
unseren unserer unter viel viele vom von vor wann war waren warst warum was weg weil weiter welche welchem
welchen welcher welches wenn wer werde werden weshalb wie wieder wieso will wir wird wirst wo wollen wurde wurden
während würde würden zu zum zur zwar zwischen
"""

_SPANISH: Final = """
a al algo algunas alguno algunos ante antes aquel aquella aquellas aquellos aquí así aun aunque bajo bien cada
casi como con contra cosas cual cuál cuales cuáles cuando cuándo cuanta cuánta cuantas cuántas cuanto cuánto
cuantos cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran eras es esa esas
ese eso esos esta está estaba estaban estado están estar estas este esto estos estoy fue fueron fui ha había
habían han has hasta hay he hemos hace hacer haber la las le les lo los más me mi mí mis mucha muchas mucho muchos
muy nada ni no nos nosotras nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco
por porque porqué puede pueden pues que qué quien quién quienes quiénes se sea sean según ser si sí sido siempre
sin sobre sois somos son soy su sus suya suyo también tan tanto te tengo ti tiene tienen toda todas todavía todo
todos tu tú tus tuve un una unas uno unos usted ustedes va vosotras vosotros y ya yo
"""

_FRENCH: Final = """
à afin ai aie ainsi alors après as assez au aucun aucune aujourd'hui auquel aussi autre autres aux avaient avait
avant avec avez avoir avons ayant beaucoup bien car ce ceci cela celle celles celui cependant ces cet cette ceux
chaque chez combien comme comment d dans de depuis des dès donc dont du elle elles en encore entre es est et
étaient était étant été être eu eux fait faire font hors ici il ils j je jusque l la là le les leur leurs lorsque
lui m ma mais même mêmes mes moi moins mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu peut
peuvent plus plusieurs pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans se selon sera
ses si sien soi soit son sont sous sur t ta tandis te tes toi ton tous tout toute toutes très trop tu un une va
vers voici voilà vont vos votre vous y
"""


STOP_WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "en": frozenset(_ENGLISH.split()) | {"dont", "didnt", "wasnt", "cant", "im", "ive", "wont", "doesnt", "isnt"},
        "de": frozenset(_GERMAN.split()),
        "es": frozenset(_SPANISH.split()),
        "fr": frozenset(_FRENCH.split()),
    }
)
