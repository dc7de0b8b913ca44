// SPDX-License-Identifier: Apache-2.0
#include "core/jobs/job_store.h"

#include "core/base/text.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/io/published_file.h"
#include "core/io/user_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>

#include <poll.h>
#include <unistd.h>

namespace shardscope::jobs {

namespace {

constexpr size_t kIdLength = 8;
constexpr size_t kEndedKept = 50;
constexpr uint64_t kRecordLimit = uint64_t{4} << 20;
constexpr uint64_t kLineLimit = 4096;
constexpr size_t kPiece = size_t{256} << 10;
constexpr uint32_t kStopped = 130; // the exit status of an interruption
constexpr uint32_t kPrivate = 0700;

void describe(auto& out, ConstOr<JobRecord> auto& record)
{
    out.name("id", record.id);
    out.list("words", record.words, [](auto& row, auto& word) { row.name("word", word); });
    out.field("json", record.json);
    out.name("host", record.host);
    out.present("target", !record.target.empty(), [&] { out.name("target", record.target); });
    out.name("machine", record.machine);
    out.field("started", record.started);
    out.field("process", record.process);
    out.field("process_start", record.processStart);
}

void describe(auto& out, ConstOr<JobEnd> auto& end)
{
    out.field("exit", end.exit);
    out.field("ended", end.ended);
}

template <class T>
std::string textOf(const T& what)
{
    std::string out;
    writeObject([&](std::string_view text) { out += text; }, [&](JsonOut& json) { describe(json, what); });
    return out;
}

template <class T>
std::optional<T> parsed(std::string_view text)
{
    const JsonNode root = JsonNode::parse(text);
    std::string problem;
    T out;
    if (!root.isObject())
        return std::nullopt;
    JsonIn in(root, problem);
    describe(in, out);
    return problem.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::string newId()
{
    std::random_device random;
    const uint32_t number = random();
    return toHex({reinterpret_cast<const char*>(&number), sizeof(number)});
}

std::string shown(std::string_view id)
{
    return JobStore::isId(id) ? std::string(id) : "the job";
}

/// Whether its process is there: another one that got the same number later is not.
bool hasProcess(const JobRecord& record)
{
    return record.processStart != 0 && startOfProcess(record.process) == record.processStart;
}

Status replaceFile(io::FileSystem& files, const io::Path& path, const std::string& text)
{
    SHARDSCOPE_TRY(const auto file, io::createForPublishing(files, path, true));
    return io::publishFile(files, *file, path, true,
        file->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
}

} // namespace

std::string_view stateName(JobState state)
{
    switch (state) {
    case JobState::Running:
        return "running";
    case JobState::Interrupted:
        return "interrupted";
    case JobState::Elsewhere:
        return "elsewhere";
    case JobState::Ended:
        break;
    }
    return "ended";
}

std::string machineName()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("?");
}

std::optional<uint64_t> startOfProcess(uint32_t process)
{
    constexpr int kBetween = 18; // fields, between the state and the start
    if (process <= 1 || process > static_cast<uint32_t>(std::numeric_limits<pid_t>::max()))
        return std::nullopt;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat"); // whose size is said to be 0
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t name = text.rfind(')'); // a name can hold blanks, parentheses and line ends
    if (name == std::string::npos)
        return std::nullopt;
    std::istringstream fields(text.substr(name + 1));
    char state = 0;
    fields >> state;
    std::string skipped;
    for (int i = 0; i < kBetween; ++i)
        fields >> skipped;
    uint64_t start = 0;
    const bool isThere = static_cast<bool>(fields >> start) && state != 'Z' && state != 'X';
    return isThere ? std::optional(start) : std::nullopt;
}

Error elsewhere(ErrorCode code, const JobRecord& record)
{
    return {code, "the job was started on another machine with the same home folder", record.machine,
        "ask that one"};
}

uint64_t timeNow()
{
    using std::chrono::milliseconds;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

JobStore::JobStore(io::FileSystem& files)
    : JobStore(files, io::userCache().empty() ? io::Path() : io::userCache() / "jobs")
{
}

bool JobStore::isId(std::string_view text)
{
    return text.size() == kIdLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

io::Path JobStore::pathOf(std::string_view id, std::string_view file) const
{
    return m_folder / id / file;
}

/// Empty where there is no such regular file.
std::string JobStore::small(std::string_view id, std::string_view file, uint64_t limit) const
{
    const io::Path path = pathOf(id, file);
    const auto type = io::entryType(m_files, path);
    if (!type || *type != io::FileType::Regular)
        return {};
    return m_files.readSmall(path, limit).value_or("");
}

Result<std::vector<JobEntry>> JobStore::all() const
{
    std::vector<JobEntry> out;
    if (m_folder.empty())
        return out;
    const auto entries = m_files.list(m_folder);
    if (!entries && entries.error().code == ErrorCode::NotFound)
        return out;
    if (!entries)
        return forward(entries.error());
    for (const io::DirectoryEntry& found : *entries) {
        auto one = entry(found.name);
        if (found.type == io::FileType::Directory && one)
            out.push_back(std::move(*one));
    }
    std::ranges::sort(out, [](const JobEntry& a, const JobEntry& b) {
        return a.record.started != b.record.started ? a.record.started > b.record.started
                                                    : a.record.id < b.record.id;
    });
    return out;
}

Result<JobEntry> JobStore::entry(std::string_view id) const
{
    const auto absent = [&] {
        return fail(ErrorCode::NotFound, "no job of this machine has the id " + shown(id), {},
            "`shardscope jobs` lists them");
    };
    if (!isId(id))
        return fail(ErrorCode::Usage, "the id of a job has 8 digits, 0 to 9 and a to f");
    if (m_folder.empty())
        return absent();
    const auto type = io::entryType(m_files, m_folder / id);
    if (!type || *type != io::FileType::Directory)
        return absent();
    auto record = parsed<JobRecord>(small(id, job_file::kRecord, kRecordLimit));
    if (!record || record->id != id)
        return fail(ErrorCode::Damaged, "the record of the job cannot be read", (m_folder / id).string(),
            "remove this folder");
    // In this order: a job writes its end before it lets its lock go.
    JobEntry out{std::move(*record), JobState::Ended, {}, {}};
    out.state = stateOf(out.record, {});
    out.end = parsed<JobEnd>(small(id, job_file::kEnd, kLineLimit));
    if (out.state != JobState::Running)
        out.state = stateOf(out.record, out.end);
    else
        out.end.reset(); // of an earlier start
    out.progress = small(id, job_file::kProgress, kLineLimit);
    return out;
}

JobState JobStore::stateOf(const JobRecord& record, const std::optional<JobEnd>& end) const
{
    if (end)
        return end->exit == kStopped ? JobState::Interrupted : JobState::Ended;
    if (record.machine != machineName())
        return JobState::Elsewhere;
    // Without locks on this file system, the process has to do.
    const auto held = m_files.lock(pathOf(record.id, job_file::kLock), io::LockKind::Shared);
    const bool runs = held ? *held == nullptr && hasProcess(record) : held.error().code == ErrorCode::Busy;
    return runs ? JobState::Running : JobState::Interrupted;
}

Result<JobRecord> JobStore::add(JobRecord wanted) const
{
    if (m_folder.empty())
        return fail(ErrorCode::WriteFailed, "there is no folder for the records of jobs", {},
            "set HOME or XDG_CACHE_HOME there");
    SHARDSCOPE_CHECK(m_files.makeDirectories(m_folder.parent_path()));
    const Status made = m_files.makeDirectory(m_folder, kPrivate);
    if (!made && made.error().code != ErrorCode::TargetExists)
        return forward(made.error());
    if (const auto type = io::entryType(m_files, m_folder); !type || *type != io::FileType::Directory)
        return fail(
            ErrorCode::WriteFailed, "this is no folder, so no job can be recorded", m_folder.string());
    removeOldest();
    SHARDSCOPE_TRY(const auto known, all());
    for (const JobEntry& job : known) {
        const bool isLeft
            = job.state == JobState::Interrupted || (job.state == JobState::Ended && job.end->exit != 0);
        if (!isLeft || job.record.words != wanted.words)
            continue;
        JobRecord again = job.record;
        again.host = wanted.host;
        SHARDSCOPE_CHECK(writeRecord(again));
        return again;
    }
    wanted.id = newId();
    wanted.machine = machineName();
    wanted.started = timeNow();
    SHARDSCOPE_CHECK(m_files.makeDirectory(m_folder / wanted.id, kPrivate));
    SHARDSCOPE_CHECK(writeRecord(wanted));
    return wanted;
}

void JobStore::removeOldest() const
{
    size_t ended = 0;
    for (const JobEntry& job : all().value_or(std::vector<JobEntry>())) {
        if (job.state == JobState::Ended && ++ended >= kEndedKept)
            (void)m_files.removeTree(m_folder / job.record.id);
    }
}

Status JobStore::writeRecord(const JobRecord& record) const
{
    return replaceFile(m_files, pathOf(record.id, job_file::kRecord), textOf(record));
}

Status JobStore::writeEnd(std::string_view id, const JobEnd& end) const
{
    return replaceFile(m_files, pathOf(id, job_file::kEnd), textOf(end));
}

/// Who looks whether the job runs holds the lock for a moment.
Result<std::unique_ptr<io::FileLock>> JobStore::lock(std::string_view id) const
{
    constexpr int kTries = 20;
    constexpr int kWaitMs = 25;
    for (int i = 0;; ++i) {
        auto held = m_files.lock(pathOf(id, job_file::kLock), io::LockKind::Exclusive);
        if (held || held.error().code != ErrorCode::Busy)
            return held;
        if (i == kTries)
            return fail(ErrorCode::Busy, "the job " + shown(id) + " runs already", {}, "attach to it");
        (void)::poll(nullptr, 0, kWaitMs);
    }
}

Result<std::unique_ptr<io::WriteFile>> JobStore::createProgress(std::string_view id) const
{
    return m_files.create(pathOf(id, job_file::kProgress), 0600);
}

void JobStore::removeOutput(std::string_view id) const
{
    for (const std::string_view file :
        {job_file::kEnd, job_file::kAnswer, job_file::kMessages, job_file::kProgress})
        (void)m_files.removeFile(pathOf(id, file));
}

Status JobStore::stop(std::string_view id) const
{
    SHARDSCOPE_TRY(const JobEntry job, entry(id));
    if (job.state == JobState::Elsewhere)
        return forward(elsewhere(ErrorCode::Usage, job.record));
    if (job.state != JobState::Running)
        return fail(ErrorCode::Usage, "the job " + shown(id) + " does not run");
    const auto notStopped = [&](const std::string& why, const char* hint) {
        return fail(ErrorCode::WriteFailed, "the job " + shown(id) + " cannot be stopped: " + why, {}, hint);
    };
    if (!hasProcess(job.record)) {
        SHARDSCOPE_TRY(const JobEntry now, entry(id));
        if (now.state != JobState::Running) // it has just ended
            return {};
        return notStopped("its record does not name its process", "if it has just started, try again");
    }
    if (::kill(static_cast<pid_t>(job.record.process), SIGINT) == 0 || errno == ESRCH)
        return {};
    return notStopped(std::strerror(errno), "");
}

Status JobStore::forget(std::string_view id) const
{
    SHARDSCOPE_TRY(const JobEntry job, entry(id));
    if (job.state == JobState::Elsewhere) {
        Error error = elsewhere(ErrorCode::Usage, job.record);
        error.hint.text += ", or remove " + (m_folder / id).string();
        return forward(std::move(error));
    }
    if (job.state == JobState::Running)
        return fail(ErrorCode::Busy, "the job " + shown(id) + " runs", {}, "stop it first");
    return m_files.removeTree(m_folder / id);
}

Result<std::string> JobStore::bytesOf(std::string_view id, std::string_view file, uint64_t offset) const
{
    const io::Path path = pathOf(id, file);
    const auto type = io::entryType(m_files, path);
    if (!isId(id) || !type || *type != io::FileType::Regular)
        return std::string();
    const auto opened = m_files.openRead(path);
    if (!opened && opened.error().code == ErrorCode::NotFound)
        return std::string();
    if (!opened)
        return forward(opened.error());
    // A job that is started again has a shorter file than it had.
    const uint64_t bytes = (*opened)->size() - std::min(offset, (*opened)->size());
    std::string out(std::min<uint64_t>(kPiece, bytes), '\0');
    if (bytes > 0) {
        SHARDSCOPE_CHECK(
            (*opened)->readAt(offset, std::span(reinterpret_cast<uint8_t*>(out.data()), out.size())));
    }
    return out;
}

} // namespace shardscope::jobs
