"""What conditions and steps see of a customer. A test says what is known: `replace(NOBODY, phone="+49")`."""

from customers.conditions import CustomerFacts

NOBODY = CustomerFacts(id="6" * 24, external_id=None, email=None, phone=None, user_id=None, attributes={})
