"""Work shared out among so many, each about as much."""


def shares(weights: dict[str, int], count: int) -> list[list[str]]:
    """Return so many lists of the keys, each of about the same weight; the largest come first."""
    lists: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for key in sorted(weights, key=weights.get, reverse=True):
        least = loads.index(min(loads))
        lists[least].append(key)
        loads[least] += weights[key]
    return lists
