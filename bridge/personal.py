"""What the bridge keeps of a customer, for exports and for the receipts of erasures."""

from customers.personal import OWN, Kept

PERSONAL = {"interactions": Kept(rows=f"FROM bridge_interaction kept WHERE {OWN}")}
