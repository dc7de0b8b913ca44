// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/lease.h"

#include "core/base/text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <random>
#include <utility>

namespace shardscope {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kGivenBack = " given-back\n";
constexpr uint64_t kLeaseLimit = uint64_t{1} << 24; ///< years of renewals
/// holder() sees another machine's file through its clock.
constexpr std::chrono::minutes kClearlyOld{5};
constexpr std::chrono::milliseconds kLook{200};
constexpr std::chrono::milliseconds kMoment{1000};

std::string thisHost()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("?");
}

/// The same for all processes since this machine was started.
std::string thisMachine()
{
    std::ifstream boot("/proc/sys/kernel/random/boot_id"); // whose size is said to be 0
    std::string id;
    boot >> id;
    if (id.empty())
        id = thisHost();
    std::erase(id, ' ');
    return id;
}

/// A lease file as found.
struct Seen {
    uint64_t number = 0;
    std::string text;
    int64_t modifiedNs = 0;

    bool operator==(const Seen& other) const { return number == other.number && text == other.text; }
    [[nodiscard]] bool isGivenBack() const { return text.ends_with(kGivenBack); }
    /// The N-th word of its first line.
    [[nodiscard]] std::string word(size_t wanted) const
    {
        const std::string line = text.substr(0, text.find('\n'));
        size_t begin = 0;
        for (size_t i = 0; i < wanted && begin != std::string::npos; ++i) {
            begin = line.find(' ', begin);
            begin += begin == std::string::npos ? 0 : 1;
        }
        return begin == std::string::npos ? std::string() : line.substr(begin, line.find(' ', begin) - begin);
    }
    [[nodiscard]] std::string machine() const { return word(1); }
    [[nodiscard]] std::string host() const
    {
        const std::string name = percentDecode(word(3)).value_or(std::string());
        return name.empty() ? "another machine" : name;
    }
};

/// The lease that counts; none if there is none.
Result<std::optional<Seen>> current(io::FileSystem& files, const io::Path& folder)
{
    const auto entries = files.list(folder / kLeaseFolder);
    if (!entries && entries.error().code == ErrorCode::NotFound)
        return std::optional<Seen>();
    if (!entries)
        return forward(entries.error());
    std::optional<Seen> out;
    for (const io::DirectoryEntry& entry : *entries) {
        uint64_t number = 0;
        const char* const end = entry.name.data() + entry.name.size();
        const auto parsed = std::from_chars(entry.name.data(), end, number);
        if (parsed.ec == std::errc() && parsed.ptr == end && (!out || number > out->number))
            out = Seen{number, {}, 0};
    }
    if (!out)
        return out;
    const io::Path path = folder / kLeaseFolder / std::to_string(out->number);
    // Opening asks the server, unlike a look at attributes that a network file system remembers.
    auto text = files.readSmall(path, kLeaseLimit);
    if (!text && text.error().code != ErrorCode::NotFound)
        return forward(text.error());
    out->text = text ? std::move(*text) : std::string();
    if (const auto info = files.stat(path))
        out->modifiedNs = info->identity.modifiedNs;
    return out;
}

std::string headerOf(const LeaseOptions& options)
{
    std::random_device random;
    return "shardscope-lease-1 " + options.machine + ' ' + std::to_string(::getpid()) + ' '
        + percentEncode(options.host) + ' ' + std::to_string(random()) + '\n';
}

/// False if another process was faster.
Result<bool> create(io::FileSystem& files, const io::Path& folder, uint64_t number, std::string_view text)
{
    if (const auto made = files.makeDirectory(folder / kLeaseFolder, 0777);
        !made && made.error().code != ErrorCode::TargetExists)
        return forward(made.error());
    auto file = files.create(folder / kLeaseFolder / std::to_string(number), 0666);
    if (!file && file.error().code == ErrorCode::TargetExists)
        return false;
    if (!file)
        return forward(file.error());
    SHARDSCOPE_CHECK((*file)->writeAt(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
    SHARDSCOPE_CHECK((*file)->sync());
    SHARDSCOPE_CHECK((*file)->close());
    SHARDSCOPE_CHECK(files.syncDirectory(folder / kLeaseFolder));
    return true;
}

LeaseOptions completed(LeaseOptions options)
{
    if (options.machine.empty())
        options.machine = thisMachine();
    if (options.host.empty())
        options.host = thisHost();
    return options;
}

tl::unexpected<Error> busy(const Seen& seen, const io::Path& folder)
{
    return fail(ErrorCode::Busy, toValidUtf8(seen.host()) + " is working on this target", folder.string(),
        "wait until it ends");
}

/// Waits until the lease has not grown for its time. Busy if it grows.
Status waitForExpiry(io::FileSystem& files, const io::Path& folder, const Seen& seen,
    std::chrono::milliseconds time, JobContext& job)
{
    job.log("waiting to see whether " + toValidUtf8(seen.host()) + " still works on this target");
    for (const auto start = Clock::now(); Clock::now() - start < time;) {
        std::this_thread::sleep_for(std::min(kLook, time / 4));
        SHARDSCOPE_CHECK(job.poll());
        SHARDSCOPE_TRY(const auto now, current(files, folder));
        if (!now || now->number != seen.number || now->isGivenBack())
            return {}; // look again
        if (now->text != seen.text)
            return busy(*now, folder);
    }
    return {};
}

/// The number of the next lease, once the current one is free.
Result<uint64_t> freeNumber(
    io::FileSystem& files, const io::Path& folder, bool isLocked, const LeaseOptions& own, JobContext& job)
{
    std::optional<Seen> watched; ///< seen not to grow for the whole time
    for (;;) {
        SHARDSCOPE_CHECK(job.poll());
        SHARDSCOPE_TRY(const auto seen, current(files, folder));
        if (!seen)
            return 1;
        if (seen->isGivenBack() || seen == watched || (isLocked && seen->machine() == own.machine))
            return seen->number + 1;
        // One that names nobody was created a moment ago, or its process died in that moment.
        const auto time = seen->text.empty() ? std::min(kMoment, own.expiry) : own.expiry;
        SHARDSCOPE_CHECK(waitForExpiry(files, folder, *seen, time, job));
        watched = seen;
    }
}

} // namespace

Lease::Lease(io::FileSystem& files, const io::Path& folder, uint64_t number, std::string header,
    std::chrono::milliseconds renewal)
    : m_files(files)
    , m_file(folder / kLeaseFolder / std::to_string(number))
    , m_next(folder / kLeaseFolder / std::to_string(number + 1))
    , m_header(std::move(header))
    , m_renewal(renewal)
    , m_renewer(Thread::start([this] { renew(); }))
{
}

Result<std::unique_ptr<Lease>> Lease::take(io::FileSystem& files, const io::Path& folder, bool isLocked,
    const LeaseOptions& options, JobContext& job)
{
    const LeaseOptions own = completed(options);
    const std::string header = headerOf(own);
    for (;;) {
        SHARDSCOPE_TRY(const uint64_t number, freeNumber(files, folder, isLocked, own, job));
        SHARDSCOPE_TRY(const bool made, create(files, folder, number, header));
        if (!made)
            continue;
        std::unique_ptr<Lease> out(new Lease(files, folder, number, header, own.renewal));
        if (!out->m_renewer.isStarted())
            return forward(noThread());
        return out;
    }
}

Status Lease::waitUntilFree(io::FileSystem& files, const io::Path& folder, bool isLocked,
    const LeaseOptions& options, JobContext& job)
{
    SHARDSCOPE_CHECK(freeNumber(files, folder, isLocked, completed(options), job));
    return {};
}

Lease::~Lease()
{
    if (stopRenewing() && check())
        (void)m_files.appendSynced(m_file, kGivenBack);
}

void Lease::forget()
{
    (void)stopRenewing();
}

/// False if it was stopped before.
bool Lease::stopRenewing()
{
    {
        const std::lock_guard lock(m_mutex);
        if (std::exchange(m_ends, true))
            return false;
    }
    m_wake.notify_all();
    m_renewer.join();
    return true;
}

void Lease::renew()
{
    std::unique_lock lock(m_mutex);
    while (!m_wake.wait_for(lock, m_renewal, [this] { return m_ends; })) {
        lock.unlock();
        if (const Status held = check(); !held && held.error().code == ErrorCode::Busy)
            return; // it must not look alive
        (void)m_files.appendSynced(m_file, ".");
        lock.lock();
    }
}

Status Lease::check() const
{
    const auto own = m_files.readSmall(m_file, kLeaseLimit);
    if (!own && own.error().code != ErrorCode::NotFound)
        return forward(own.error());
    const auto next = m_files.stat(m_next);
    if (!next && next.error().code != ErrorCode::NotFound)
        return forward(next.error());
    if (own && own->starts_with(m_header) && !next)
        return {};
    return fail(ErrorCode::Busy, "another process has taken this job over", m_file.parent_path().string(),
        "this one was stopped for too long, or could not reach the file system");
}

std::string Lease::holder(
    io::FileSystem& files, const io::Path& folder, bool isLocked, const LeaseOptions& options)
{
    const auto seen = current(files, folder);
    if (!seen || !*seen || (*seen)->isGivenBack()
        || (isLocked && (*seen)->machine() == completed(options).machine))
        return {};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto age = now - std::chrono::nanoseconds((*seen)->modifiedNs);
    return age < kClearlyOld ? (*seen)->host() : std::string();
}

} // namespace shardscope
