"""Which product an instance says it is: version, edition, what of T-SQL it knows.

Source: "SERVERPROPERTY" page (EngineEdition, ProductVersion), "ALTER DATABASE compatibility level"
page (the levels of each version), the "Applies to" line of each statement and function.
"""

from __future__ import annotations

from dataclasses import dataclass

ENTERPRISE, EXPRESS, AZURE_DATABASE, MANAGED_INSTANCE = 3, 4, 5, 8
"""Values of EngineEdition ("SERVERPROPERTY" page)."""

LEVELS = (100, 110, 120, 130, 140, 150, 160, 170)
"""Compatibility levels; 80 and 90 belong to versions that are no target."""


class ProductError(ValueError):
    """A product there is none of; the text lists what may be asked for."""


@dataclass(frozen=True, slots=True)
class Product:
    """A version and edition of SQL Server, as SERVERPROPERTY tells it."""

    name: str
    """What ``Instance(product=...)`` and ``invoke broker --product`` call it."""
    version: str
    """ProductVersion: major.minor.build.revision."""
    level: str
    """ProductLevel: RTM, SP1 ..."""
    edition: str
    """Edition; the usual product says what it is: a test double."""
    engine_edition: int = ENTERPRISE
    """EngineEdition: 2 Standard, 3 Enterprise, 4 Express, 5 Azure SQL Database, 8 Managed Instance."""
    newest_level: int = 160
    """The highest compatibility level, which is that of new databases."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers. Azure's say nothing: it is always the newest."""
        if self.engine_edition in {AZURE_DATABASE, MANAGED_INSTANCE}:
            return (99, 0, 0, 0)
        return tuple(int(part) for part in self.version.split("."))

    @property
    def levels(self) -> tuple[int, ...]:
        """The compatibility levels ALTER DATABASE takes."""
        return tuple(level for level in LEVELS if level <= self.newest_level)


_TEST_DOUBLE = "Redial embedded broker (test double)"
_ENTERPRISE = "Enterprise Edition (64-bit)"

PRODUCTS = {
    product.name: product
    for product in (
        Product("2022", "16.0.4100.1", "RTM", _TEST_DOUBLE),
        Product("2014", "12.0.6024.0", "SP3", _ENTERPRISE, newest_level=120),
        Product("2016 RTM", "13.0.1601.5", "RTM", _ENTERPRISE, newest_level=130),
        Product("2016 SP1", "13.0.4001.0", "SP1", _ENTERPRISE, newest_level=130),
        Product("2017", "14.0.1000.169", "RTM", _ENTERPRISE, newest_level=140),
        Product("2019", "15.0.2000.5", "RTM", _ENTERPRISE, newest_level=150),
        Product("2022 Express", "16.0.1000.6", "RTM", "Express Edition (64-bit)", EXPRESS),
        Product("2025", "17.0.1000.7", "RTM", _ENTERPRISE, newest_level=170),
        Product(
            "Azure SQL Database",
            "12.0.2000.8",
            "RTM",
            "SQL Azure",
            AZURE_DATABASE,
            newest_level=170,
        ),
        Product(
            "Managed Instance",
            "12.0.2000.8",
            "RTM",
            "SQL Azure",
            MANAGED_INSTANCE,
            newest_level=170,
        ),
    )
}
"""By name; the first is the usual one."""

USUAL = PRODUCTS["2022"]


def named(product: Product | str | None) -> Product:
    """The product of that name (case does not count); None for the usual one. ProductError."""
    if isinstance(product, Product):
        return product
    if product is None:
        return USUAL
    found = {name.lower(): one for name, one in PRODUCTS.items()}.get(product.lower())
    if found is None:
        raise ProductError(f"product {product!r}: there are {', '.join(PRODUCTS)}")
    return found


DOUBLE = (
    "REDIAL EMBEDDED BROKER: a test double, not SQL Server. Measure nothing here for SQL Server."
)


def version_text(product: Product) -> str:
    """@@VERSION: what it imitates and, whatever that is, that it is not SQL Server."""
    if product.engine_edition in {AZURE_DATABASE, MANAGED_INSTANCE}:
        return f"Microsoft SQL Azure ({product.level}) - {product.version} \n\t{DOUBLE}"
    year = product.name.partition(" ")[0]
    return f"Microsoft SQL Server {year} ({product.level}) - {product.version} (X64) \n\t{DOUBLE}"
