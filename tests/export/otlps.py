# SPDX-License-Identifier: MIT
"""otlps - a request of OTLP's profiles, parsed by protoc with otlp.proto."""

from collections import Counter

from pprofs import one, protoc

TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")


class Profile:
    """A profile of a request. Missing fields are 0, as in protocol buffers."""

    def __init__(self, request, message, resource):
        self.request, self.message, self.resource = request, message, resource
        type = only(message["sample_type"])
        self.type, self.unit = (request.string(one(type, field)) for field in ("type_strindex", "unit_strindex"))
        self.time_ns, self.duration_ns = one(message, "time_unix_nano"), one(message, "duration_nano")
        self.period, self.id = one(message, "period"), only(message["profile_id"])
        self.samples = message.get("samples", [])
        self.extra = request.attributes(message)

    def total(self):
        return sum(only(sample["values"]) for sample in self.samples)

    def rows(self):
        """(names, innermost first, tag, thread) -> number."""
        table = Counter()
        for sample in self.samples:
            labels = self.request.attributes(sample)
            names = tuple(self.request.names(one(sample, "stack_index")))
            table[names, labels.get("plimsoll.tag", ""), labels.get("thread.name", "")] += only(sample["values"])
        return table


class Request:
    def __init__(self, data):
        self.all = protoc(data, "otlp.Request", "otlp.proto")
        dictionary = only(self.all["dictionary"])
        self.table = {name: dictionary.get(f"{name}_table", []) for name in TABLES}
        self.profiles = [Profile(self, profile, self.resource(part)) for part in self.all.get("resource_profiles", [])
                         for scope in part["scope_profiles"] for profile in scope.get("profiles", [])]

    def string(self, number):
        return self.table["string"][number]

    def value(self, message):
        value = only(message["value"])
        return value["string_value"][0] if "string_value" in value else self.string(one(value, "string_value_strindex"))

    def resource(self, part):
        """key -> value."""
        return {pair["key"][0] if "key" in pair else self.string(one(pair, "key_strindex")): self.value(pair)
                for pair in part["resource"][0].get("attributes", [])}

    def attributes(self, message):
        """key -> value of the attributes that a message refers to."""
        pairs = [self.table["attribute"][number] for number in message.get("attribute_indices", [])]
        return {self.string(one(pair, "key_strindex")): self.value(pair) for pair in pairs}

    def locations(self, stack):
        return [self.table["location"][number] for number in self.table["stack"][stack].get("location_indices", [])]

    def names(self, stack):
        for location in self.locations(stack):
            for line in location.get("lines", []):
                yield self.string(one(self.table["function"][one(line, "function_index")], "name_strindex"))

    def totals(self):
        """metric -> its sum over all profiles."""
        sums = Counter()
        for profile in self.profiles:
            sums[profile.type] += profile.total()
        return dict(sums)


def only(found):
    (value,) = found
    return value
