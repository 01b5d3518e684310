"""Reads a file of chunks (sparkbench.chunks/1, see docs/archive.md) and prints it as CSV, as `sparkbench chunks --csv` does."""
import json, struct, sys, zlib


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def signed(data, at):
    value, at = varint(data, at)
    return value >> 1 ^ -(value & 1), at


def column(data, at, count):
    length, at = varint(data, at)
    end, mode, values = at + length, data[at] if length else 0, []
    at += 1
    while len(values) < count:
        value, at = signed(data, at)
        times = 1
        if mode == 3:
            times, at = varint(data, at)
        values += [value + (values[-1] if mode == 2 and values else 0)] * (count if mode == 0 else times)
    return values, end


def chunks(path):
    with open(path, "rb") as file:
        header = json.loads(file.readline())
        while len(frame := file.read(8)) == 8 and frame != bytes(8):
            length, check = struct.unpack("<II", frame)
            data, at = file.read(length), 0
            if len(data) < length or zlib.crc32(data) != check:
                break
            request, at = varint(data, at)
            first, at = varint(data, at)
            count, at = varint(data, at)
            more, at = varint(data, at)
            time, at = signed(data, at)
            columns = []
            for number in range(len(header["columns"])):
                values, at = column(data, at, count - (number == 0))
                columns.append(values)
            gap, lag, envelope, text, tokens, kind = columns
            for place in range(count):
                time += gap[place - 1] if place else 0
                yield request, first + place, time, lag[place], envelope[place] + text[place], text[place], tokens[place], header["kinds"][kind[place]]


if __name__ == "__main__":
    print("request,chunk,at_s,lag_us,bytes,text_bytes,tokens,kind")
    for request, chunk, ns, lag, size, text, tokens, kind in chunks(sys.argv[1]):
        at = f"{'-' if ns < 0 else ''}{abs(ns) // 10**9}.{abs(ns) % 10**9:09}"
        print(f"{request},{chunk},{at},{lag // 10}.{lag % 10},{size},{text},{tokens or ''},{kind}")
