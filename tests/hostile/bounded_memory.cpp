// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/bounded_memory.h"
#include "tests/support/places.h"

#include <stdexcept>

#include <sys/resource.h>

namespace shardscope::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

ProcessResult runHereOrThere(const std::vector<std::string>& words)
{
    return runHere(words);
}

#else

namespace {

constexpr rlim_t kAddresses = rlim_t{4}
    << 30; ///< for stacks and arenas of 16 threads, and a pickle at its limits

/// A child inherits the limit; this process keeps what it has mapped already.
class Limit
{
public:
    Limit()
    {
        if (::getrlimit(RLIMIT_AS, &m_kept) != 0)
            throw std::runtime_error("cannot read the limit of addresses");
        rlimit lower = m_kept;
        lower.rlim_cur = m_kept.rlim_cur < kAddresses ? m_kept.rlim_cur : kAddresses;
        ::setrlimit(RLIMIT_AS, &lower);
    }
    ~Limit() { ::setrlimit(RLIMIT_AS, &m_kept); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

private:
    rlimit m_kept{};
};

} // namespace

ProcessResult runHereOrThere(const std::vector<std::string>& words)
{
    std::vector<std::string> all{programPath()};
    all.insert(all.end(), words.begin(), words.end());
    const Limit limit;
    return runProcess(all);
}

#endif

} // namespace shardscope::test
