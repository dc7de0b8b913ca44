// SPDX-License-Identifier: Apache-2.0
// Compiled into every program of a build under AddressSanitizer.
#include <sanitizer/asan_interface.h>

/// Thread-local variables of a library loaded at run time whose address ends in 0x010 are taken for ones with
/// a header of glibc 2.19 before them, and the leak search reads wherever that points
/// (google/sanitizers#1409, repaired in LLVM 17): about one program in 64 that loads LibTorch crashed at its
/// end. No glibc since 2.25 has such a header, so that nothing is lost by not looking for it.
extern "C" const char* __asan_default_options()
{
    return "intercept_tls_get_addr=0";
}
