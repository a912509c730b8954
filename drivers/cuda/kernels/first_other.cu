// Finds the first of size bytes at `at` that is not `value`: the least offset goes to
// *first, which holds 2^64-1 before. Any grid of one dimension does; each thread takes
// every so manieth word.

typedef unsigned long long u64;

// Where the bytes of two words differ first, the byte of least weight first.
static __device__ u64 first_byte(u64 word, u64 wanted) {
    return (__ffsll((long long)(word ^ wanted)) - 1) >> 3;
}

extern "C" __global__ void ferrum_first_other(const unsigned char *at, u64 size, unsigned value,
                                              u64 *first) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
    const u64 self = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 wanted = value * 0x0101010101010101ull;

    // Bytes before the first whole word and behind the last one, fewer than 16 each.
    const u64 before = min((u64)(-(long long)at & 15), size);
    const u64 words = (size - before) / 16;
    const u64 behind = before + words * 16;
    if (self < before && at[self] != (unsigned char)value) {
        atomicMin(first, self);
    }
    if (self < size - behind && at[behind + self] != (unsigned char)value) {
        atomicMin(first, behind + self);
    }

    // The offsets of a thread grow: its first difference is the only one that can count.
    const ulonglong2 *word = (const ulonglong2 *)(at + before);
    for (u64 i = self; i < words; i += threads) {
        const ulonglong2 found = word[i];
        if (found.x != wanted) {
            atomicMin(first, before + i * 16 + first_byte(found.x, wanted));
            return;
        }
        if (found.y != wanted) {
            atomicMin(first, before + i * 16 + 8 + first_byte(found.y, wanted));
            return;
        }
    }
}
