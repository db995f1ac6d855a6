# SPDX-License-Identifier: Apache-2.0
"""What did each sale cost? A join by two columns, day and shop, and a map with such keys.

python two_columns.py      answers are checked against pandas if it is there, else against a dict
"""

import numpy as np

import tessera


def main() -> None:
    random = np.random.default_rng(5)
    days, shops = random.integers(-30, 30, 20_000), random.integers(0, 1 << 40, 50)[random.integers(0, 50, 20_000)]
    # one price for most days and shops
    price_days, price_shops = (part.reshape(-1) for part in np.meshgrid(np.arange(-30, 30), np.unique(shops)))
    some = random.permutation(len(price_days))[: len(price_days) * 9 // 10]
    price_days, price_shops, prices = price_days[some], price_shops[some], random.random(len(some))

    left, right = tessera.merge((days, shops), (price_days, price_shops))
    with tessera.Map(key={"day": "int64", "shop": "int64"}, value="float64") as price_of:
        price_of.insert({"day": price_days, "shop": price_shops}, prices)
        found = price_of.get((days, shops), missing=np.nan)

    try:
        import pandas

        sales = pandas.DataFrame({"day": days, "shop": shops})
        sheet = pandas.DataFrame({"day": price_days, "shop": price_shops, "price": prices})
        expected, judge = sales.merge(sheet, on=["day", "shop"], how="left")["price"].to_numpy(), "pandas"
        framed = tessera.merge(sales, sheet, on=["day", "shop"], how="left")["price"].to_numpy()
        np.testing.assert_array_equal(framed, expected)
    except ImportError:
        sheet = dict(zip(zip(price_days.tolist(), price_shops.tolist()), prices.tolist()))
        expected, judge = np.array([sheet.get(key, np.nan) for key in zip(days.tolist(), shops.tolist())]), "a dict"
    np.testing.assert_array_equal(found, expected)
    joined = np.full(len(days), np.nan)
    joined[left] = prices[right]
    np.testing.assert_array_equal(joined, expected)
    print(f"{len(left)} of {len(days)} sales have a price; as {judge} has them")


if __name__ == "__main__":
    main()
