"""Work divided into shares of about the same size."""


def shares(weights: dict[str, int], count: int) -> list[list[str]]:
    """Return `count` lists of the keys with similar weights; the largest keys come first."""
    lists: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for key in sorted(weights, key=weights.get, reverse=True):
        least = loads.index(min(loads))
        lists[least].append(key)
        loads[least] += weights[key]
    return lists
