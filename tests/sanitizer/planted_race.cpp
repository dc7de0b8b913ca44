// SPDX-License-Identifier: Apache-2.0
// A data race on purpose. Its test passes only when ThreadSanitizer reports it, so that a build whose
// sanitizer is off or suppressed fails.
#include <cstdio>
#include <thread>

namespace {

int g_shared = 0; // guarded by nothing

} // namespace

int main()
{
    std::thread other([] { ++g_shared; });
    ++g_shared;
    other.join();
    std::printf("%d\n", g_shared);
    return 0;
}
