// SPDX-License-Identifier: Apache-2.0
// For the wheel of the window, whose libstdc++ was built for glibc 2.36: its std::random_device, which nothing calls,
// refers to arc4random(). With this definition the program also starts with glibc 2.34.
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept
{
    uint32_t out = 0;
    if (::getrandom(&out, sizeof(out), 0) != sizeof(out))
        std::abort();
    return out;
}
