"""Records whose JSON is read as it was written: PostgreSQL orders the names of an object by their length."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from django.db import models

from engage.json.key_order import KeyOrder, in_key_order, key_order_of


class InWrittenOrder(models.Model):
    """`WRITTEN` are the columns whose names keep their order, which people see where they fill something in."""

    WRITTEN: ClassVar[tuple[str, ...]] = ()

    key_orders = models.JSONField(default=dict, db_default={}, editable=False)

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        if update_fields is None or {*update_fields} & {*self.WRITTEN}:
            self.key_orders = self.orders()
            update_fields = None if update_fields is None else {*update_fields, "key_orders"}
        super().save(*args, update_fields=update_fields, **kwargs)

    @classmethod
    def from_db(cls, *args: Any, **kwargs: Any) -> Self:
        row = super().from_db(*args, **kwargs)
        known = vars(row)
        for name, order in (known.get("key_orders") or {}).items():
            if name in known:
                known[name] = in_key_order(known[name], order)
        return row

    def orders(self) -> dict[str, KeyOrder]:
        """Of the columns as they are now; those that were not read keep theirs."""
        known = vars(self)
        return {**self.key_orders, **{name: key_order_of(known[name]) for name in self.WRITTEN if name in known}}

    def keep_order_of(self, written: "InWrittenOrder") -> None:
        """Stores the order of one that is equal but for that: it is no change."""
        if (orders := written.orders()) != self.key_orders:
            type(self)._default_manager.filter(pk=self.pk).update(key_orders=orders)  # noqa: SLF001
