// The one function that headers of g++ 11 and later call and that libstdc++ lacks before
// GLIBCXX_3.4.29. The linker finds this definition, so the allocator runs with the C++
// library of any process that loads it. The function is hidden, so other libraries of the
// process keep their own.

#include <new>

extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void
ferrum_throw_bad_array_new_length() __asm__(
    "_ZSt28__throw_bad_array_new_lengthv");

void ferrum_throw_bad_array_new_length() { throw std::bad_array_new_length(); }
