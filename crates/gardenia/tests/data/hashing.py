"""XXH3-64 and XXH64 with a seed and SipHash-1-3, from their specifications and with nothing but Python."""

MASK = 2**64 - 1
PRIME32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MIX = 0x165667919E3779F9
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17"
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def u32(data, at=0):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at=0):
    return int.from_bytes(data[at : at + 8], "little")


def swap(value):
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def turn(value, by, bits=64):
    return (value << by | value >> bits - by) & 2**bits - 1


def fold(a, b):
    return (a * b & MASK) ^ (a * b >> 64)


def avalanche(h):
    h = (h ^ h >> 37) * MIX & MASK
    return h ^ h >> 32


def avalanche64(h):
    h = (h ^ h >> 33) * PRIME64[1] & MASK
    h = (h ^ h >> 29) * PRIME64[2] & MASK
    return h ^ h >> 32


def mix16(data, at, secret_at, seed):
    low = u64(SECRET, secret_at) + seed & MASK
    high = u64(SECRET, secret_at + 8) - seed & MASK
    return fold(u64(data, at) ^ low, u64(data, at + 8) ^ high)


def up_to_16(data, seed):
    n = len(data)
    if n > 8:
        low = (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & MASK
        high = (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & MASK
        low, high = low ^ u64(data), high ^ u64(data, n - 8)
        return avalanche(n + swap(low) + high + fold(low, high) & MASK)
    if n > 3:
        seed ^= swap(seed & 0xFFFFFFFF) >> 32 << 32
        both = u32(data, n - 4) + (u32(data) << 32)
        h = both ^ (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & MASK
        h ^= turn(h, 49) ^ turn(h, 24)
        h = h * 0x9FB21C651E98DF25 & MASK
        h ^= (h >> 35) + n
        h = h * 0x9FB21C651E98DF25 & MASK
        return h ^ h >> 28
    if n > 0:
        both = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche64(both ^ (u32(SECRET) ^ u32(SECRET, 4)) + seed & MASK)
    return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))


def up_to_240(data, seed):
    n = len(data)
    h = n * PRIME64[0]
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            h += mix16(data, 16 * i, 32 * i, seed) + mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(h & MASK)
    h = avalanche(h + sum(mix16(data, 16 * i, 16 * i, seed) for i in range(8)) & MASK)
    h += sum(mix16(data, 16 * i, 16 * (i - 8) + 3, seed) for i in range(8, n // 16))
    return avalanche(h + mix16(data, n - 16, 136 - 17, seed) & MASK)


def longer(data, seed):
    n = len(data)
    secret = b"".join(
        ((u64(SECRET, at) + (-seed if at // 8 % 2 else seed)) & MASK).to_bytes(8, "little") for at in range(0, 192, 8)
    )
    lanes = [PRIME32[2], *PRIME64[:4], PRIME32[1], PRIME64[4], PRIME32[0]]

    def accumulate(at, secret_at):
        for i in range(8):
            value = u64(data, at + 8 * i)
            key = value ^ u64(secret, secret_at + 8 * i)
            lanes[i ^ 1] = lanes[i ^ 1] + value & MASK
            lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & MASK

    stripes = (192 - 64) // 8
    block = 64 * stripes
    blocks = (n - 1) // block
    for b in range(blocks):
        for s in range(stripes):
            accumulate(b * block + 64 * s, 8 * s)
        for i in range(8):
            lane = lanes[i] ^ lanes[i] >> 47 ^ u64(secret, 128 + 8 * i)
            lanes[i] = lane * PRIME32[0] & MASK
    for s in range((n - 1 - blocks * block) // 64):
        accumulate(blocks * block + 64 * s, 8 * s)
    accumulate(n - 64, 192 - 64 - 7)
    h = n * PRIME64[0]
    for i in range(4):
        h += fold(lanes[2 * i] ^ u64(secret, 11 + 16 * i), lanes[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(h & MASK)


def xxh3(data, seed=0):
    return (up_to_16 if len(data) <= 16 else up_to_240 if len(data) <= 240 else longer)(data, seed)


def xxh64(data, seed=0):
    p1, p2, p3, p4, p5 = PRIME64
    step = lambda lane, word: turn(lane + word * p2 & MASK, 31) * p1 & MASK
    at = 0
    if len(data) >= 32:
        lanes = [seed + p1 + p2 & MASK, seed + p2 & MASK, seed, seed - p1 & MASK]
        while at + 32 <= len(data):
            lanes = [step(lane, u64(data, at + 8 * i)) for i, lane in enumerate(lanes)]
            at += 32
        h = sum(turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ step(0, lane)) * p1 + p4) & MASK
    else:
        h = seed + p5 & MASK
    h = h + len(data) & MASK
    while at + 8 <= len(data):
        h = turn(h ^ step(0, u64(data, at)), 27) * p1 + p4 & MASK
        at += 8
    if at + 4 <= len(data):
        h = turn(h ^ u32(data, at) * p1 & MASK, 23) * p2 + p3 & MASK
        at += 4
    for byte in data[at:]:
        h = turn(h ^ byte * p5 & MASK, 11) * p1 & MASK
    return avalanche64(h)


def sip13(data, secret):
    """SipHash with one round for each word and three at the end."""
    k0, k1 = u64(secret), u64(secret, 8)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def half(a, b, by, then):
        v[a] = v[a] + v[b] & MASK
        v[b] = turn(v[b], by) ^ v[a]
        if then:
            v[a] = turn(v[a], 32)

    def round_():
        half(0, 1, 13, True)
        half(2, 3, 16, False)
        half(0, 3, 21, False)
        half(2, 1, 17, True)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        v[3] ^= u64(padded, at)
        round_()
        v[0] ^= u64(padded, at)
    v[2] ^= 0xFF
    for _ in range(3):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]
