// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/run_here.h"

#include "app/cli/run.h"
#include "tests/support/places.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace shardscope::test {

namespace {

void flushAll()
{
    std::cout.flush();
    std::cerr.flush();
    (void)std::fflush(nullptr);
}

/// Takes what is written to a descriptor, until it is gone.
class Capture
{
public:
    explicit Capture(int descriptor)
        : m_descriptor(descriptor)
        , m_kept(::dup(descriptor))
        , m_file(::memfd_create("output", MFD_CLOEXEC))
    {
        if (m_kept < 0 || m_file < 0 || ::dup2(m_file, descriptor) < 0)
            throw std::runtime_error("cannot redirect an output");
    }
    ~Capture()
    {
        ::dup2(m_kept, m_descriptor);
        ::close(m_kept);
        ::close(m_file);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    [[nodiscard]] std::string text() const
    {
        std::string out;
        std::array<char, 65536> buffer{};
        for (;;) {
            const ssize_t count
                = ::pread(m_file, buffer.data(), buffer.size(), static_cast<off_t>(out.size()));
            if (count <= 0)
                return out;
            out.append(buffer.data(), static_cast<size_t>(count));
        }
    }

private:
    int m_descriptor;
    int m_kept;
    int m_file;
};

} // namespace

ProcessResult runHere(const std::vector<std::string>& words)
{
    std::vector<std::string> all{"shardscope"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : all)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    flushAll();
    const Capture out(STDOUT_FILENO);
    const Capture err(STDERR_FILENO);
    ProcessResult result;
    result.exitCode = cli::run(static_cast<int>(all.size()), arguments.data());
    flushAll();
    result.out = out.text();
    result.err = err.text();
    return result;
}

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
