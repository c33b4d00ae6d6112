"""The names of icons for charts, sheets and the console. The console has the images."""

ICONS = tuple(
    "alert archive arrow-down arrow-left arrow-right arrow-up attachment ban bell book bookmark bot box bucket bug "
    "building calendar call camera cart chart check circle clipboard clock close cloud code comment compass copy "
    "credit-card dashboard database document download draft edit envelope error eye filter flag folder forward gear "
    "gift globe group hand heart help history home hourglass idea inbox info key label language link list location "
    "lock map megaphone menu merge message minus money moon more move music note package pause pencil person phone "
    "picture pin play plus power print puzzle question queue quote refresh reminder reply report role save search "
    "send server settings share shield sort spam spark split star stop sun tag task team ticket timer tool trash "
    "truck undo unlock upload user video wait warning watch webhook worker".split()
)
