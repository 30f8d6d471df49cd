-- customers.watching: _UNWATCH
UPDATE customers_customer SET watched = false WHERE id = ANY({ids}::text[]) AND watched

-- customers.watching: _WATCH
UPDATE customers_customer SET watched = true WHERE id = ANY({ids}::text[]) AND NOT watched
