// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_host.h"

#include "core/base/build_info.h"
#include "core/base/current_stop.h"
#include "core/base/parallel.h"
#include "core/far/far_path.h"
#include "core/io/outage_watch.h"
#include "core/serve/file_calls.h"
#include "core/serve/frame.h"
#include "core/serve/packing.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <utility>

namespace shardscope::far {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{200};
constexpr milliseconds kCancelPatience{5000};
constexpr milliseconds kPaused{2000}; ///< this process was stopped meanwhile (Ctrl+Z)
constexpr size_t kUnderWay = 200; ///< `serve` takes 256

Error cancelled()
{
    std::stop_source stopped;
    stopped.request_stop();
    return JobContext(stopped.get_token()).poll().error();
}

/// Whether nobody waits for the answer any more. A job there is not given up because its view is.
bool isStopped(const FarQuestion& question, const FarSettings& settings)
{
    const bool isOfJobs = question.request.ask == serve::ask::kJob;
    return (!question.outlivesStop && (settings.stop.stop_requested() || (!isOfJobs && isThreadStopped())))
        || (question.job != nullptr && question.job->cancelled());
}

} // namespace

/// A line with its reading thread.
struct FarHost::Connection {
    struct Pending {
        const FarQuestion* question = nullptr;
        std::optional<Result<FarAnswer>> answer;
    };

    explicit Connection(std::string host)
        : name(std::move(host))
    {
    }
    ~Connection()
    {
        {
            const std::lock_guard lock(mutex);
            isEnding = true;
        }
        line.end();
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Status start(FarSettings applied);
    Status awaitHello(const std::stop_token& stop);
    void read();
    Status takeAll(std::span<const uint8_t> bytes);
    Status take(serve::Frame frame);
    void settle(uint64_t id, Result<FarAnswer> answer);
    void lose(Error error);
    Status send(serve::Request request, std::string_view payload);
    Result<FarAnswer> ask(const FarQuestion& question);

    std::string name;
    FarSettings settings; ///< silence: five `alive` replies are missing
    FarLine line;
    std::mutex sending;
    serve::Packer packer; ///< of those that send
    std::atomic<uint64_t> bytesSent = 0;
    std::mutex mutex; ///< of all that follows
    std::condition_variable changed;
    std::map<uint64_t, Pending*> pending;
    steady_clock::time_point heard{}; ///< when the last byte arrived, or nobody waited
    std::optional<Error> lost;
    uint64_t lastId = 0;
    bool isEnding = false;
    serve::FrameReader frames;
    serve::Unpacker unpacker;
    FarTraffic traffic;
    Thread reader; ///< last, so that it ends first
};

/// `applied`: the settings, with the stop and the sinks of this attempt.
Status FarHost::Connection::start(FarSettings applied)
{
    SHARDSCOPE_TRY(line, FarLine::start(name, applied));
    SHARDSCOPE_CHECK(awaitHello(applied.stop));
    SHARDSCOPE_CHECK(send({.id = ++lastId, .ask = std::string(serve::ask::kAlive), .pack = true}, {}));
    reader = Thread::start([this] { read(); });
    if (!reader.isStarted())
        return forward(noThread());
    return {};
}

Status FarHost::Connection::awaitHello(const std::stop_token& stop)
{
    const std::string early = line.takeEarly();
    frames.add(std::span(reinterpret_cast<const uint8_t*>(early.data()), early.size()));
    const auto until = steady_clock::now() + settings.silence;
    for (;;) {
        SHARDSCOPE_TRY(const auto frame, frames.next());
        if (frame) {
            SHARDSCOPE_TRY(const serve::Reply hello, serve::parseReply(frame->header));
            if (hello.reply == serve::reply::kHello && hello.protocol == serve::kProtocol
                && hello.version == buildInfo().version)
                return {};
            return fail(ErrorCode::Unsupported,
                "the other end does not speak as shardscope " + std::string(buildInfo().version) + " does",
                name, "install the same version on both hosts");
        }
        if (stop.stop_requested() || isThreadStopped())
            return forward(cancelled());
        SHARDSCOPE_TRY(const auto bytes, line.receive(kLook));
        frames.add(bytes);
        traffic.bytesReceived += bytes.size();
        if (steady_clock::now() > until)
            return fail(ErrorCode::Unreadable, "the other end does not answer", name);
    }
}

void FarHost::Connection::read()
{
    {
        const std::lock_guard lock(mutex);
        heard = steady_clock::now();
    }
    for (;;) {
        const auto began = steady_clock::now();
        const auto bytes = line.receive(kLook);
        const auto now = steady_clock::now();
        {
            const std::lock_guard lock(mutex);
            if (isEnding || lost)
                return;
            if (!bytes)
                return lose(bytes.error());
            if (!bytes->empty() || now - began > kPaused)
                heard = now;
            else if (now - heard > settings.silence)
                return lose({ErrorCode::Unreadable, "nothing arrives any more", name, {}});
            traffic.bytesReceived += bytes->size();
        }
        const Status taken = withinMemory([&] { return takeAll(*bytes); });
        if (!taken) {
            const std::lock_guard lock(mutex);
            return lose(taken.error());
        }
    }
}

/// Without the mutex: to unpack takes long, and others only want to know how the connection is.
Status FarHost::Connection::takeAll(std::span<const uint8_t> bytes)
{
    frames.add(bytes);
    for (;;) {
        SHARDSCOPE_TRY(auto frame, frames.next());
        if (!frame)
            return {};
        SHARDSCOPE_CHECK(take(std::move(*frame)));
    }
}

/// Whether a command of this program ends so. Scripts know no others.
static bool isExitStatus(std::optional<int> exit)
{
    constexpr int kNegative = 1; // done, but for instance different
    bool isError = false;
    for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code)
        isError = isError || exit == exitCode(static_cast<ErrorCode>(code));
    return exit && (*exit == 0 || *exit == kNegative || isError);
}

Status FarHost::Connection::take(serve::Frame frame)
{
    SHARDSCOPE_TRY(serve::Reply reply, serve::parseReply(frame.header));
    if (reply.unpacked > 0) { // also of a question that was given up: the stream goes on
        SHARDSCOPE_TRY(frame.payload, unpacker.unpack(frame.payload, reply.unpacked));
    }
    const std::lock_guard lock(mutex);
    const auto found = pending.find(reply.id);
    if (found == pending.end()) {
        if (reply.id > lastId)
            return fail(ErrorCode::Hostile, "the other end answers what was not asked", name);
        return {}; // one that was given up gets nothing more
    }
    const FarQuestion& question = *found->second->question;
    if (reply.reply == serve::reply::kData || reply.reply == serve::reply::kFile) {
        const auto& sink = reply.reply == serve::reply::kData ? question.data : question.file;
        const Status taken = sink
            ? sink(frame.payload)
            : fail(ErrorCode::Hostile, "the other end sends data that were not asked for");
        if (taken || taken.error().code == ErrorCode::Hostile)
            return taken;
        settle(reply.id, forward(taken.error())); // of this question alone
        return {};
    }
    if (reply.reply == serve::reply::kProgress || reply.reply == serve::reply::kMessage) {
        const auto& sink = reply.reply == serve::reply::kProgress ? question.progress : question.message;
        if (sink)
            sink(frame.payload);
        return {};
    }
    const uint64_t id = reply.id;
    const bool isCommand
        = question.request.ask == serve::ask::kAnswer || question.request.ask == serve::ask::kJob;
    if (reply.reply == serve::reply::kDone && isCommand && !isExitStatus(reply.exit))
        return fail(
            ErrorCode::Hostile, "the other end ends a command without an exit status of this program", name);
    if (reply.reply == serve::reply::kDone)
        settle(id, FarAnswer{std::move(reply), std::move(frame.payload)});
    else
        settle(id, forward(ofHost(serve::parseError(frame.payload), name)));
    return {};
}

/// With the mutex locked.
void FarHost::Connection::settle(uint64_t id, Result<FarAnswer> answer)
{
    const auto found = pending.find(id);
    found->second->answer.emplace(std::move(answer));
    pending.erase(found);
    changed.notify_all();
}

/// With the mutex locked.
void FarHost::Connection::lose(Error error)
{
    error.message = "the connection to the host is lost: " + error.message;
    error.path = name;
    if (error.hint.text.empty())
        error.hint = {"see whether `" + sshCommand(name, "true") + "` works", {{Retry::Shown}}};
    line.end();
    lost = error;
    while (!pending.empty())
        settle(pending.begin()->first, forward(error));
    changed.notify_all(); // those that wait for their turn
}

Status FarHost::Connection::send(serve::Request request, std::string_view payload)
{
    const std::lock_guard lock(sending);
    SHARDSCOPE_TRY(const std::optional<std::string> packed, packer.pack(payload));
    if (packed) {
        request.unpacked = payload.size();
        payload = *packed;
    }
    std::string bytes = serve::frameStart(serve::requestText(request), payload.size());
    bytes += payload;
    bytesSent += bytes.size();
    return line.send(bytes, settings.silence);
}

Result<FarAnswer> FarHost::Connection::ask(const FarQuestion& question)
{
    const auto stops = [&] { return isStopped(question, settings); };
    serve::Request request = question.request;
    Pending asked{&question, {}};
    std::unique_lock lock(mutex);
    while (!lost && pending.size() >= kUnderWay && !stops())
        changed.wait_for(lock, kLook);
    if (lost)
        return forward(*lost);
    request.id = ++lastId;
    pending.emplace(request.id, &asked);
    struct Forget { // whatever happens, nobody refers to this question afterwards
        Connection& connection;
        std::unique_lock<std::mutex>& lock;
        uint64_t id;
        ~Forget()
        {
            if (!lock.owns_lock())
                lock.lock();
            connection.pending.erase(id);
        }
    };
    const Forget atEnd{*this, lock, request.id};
    ++traffic.questions;
    lock.unlock();
    const Status sent = send(request, question.payload);
    lock.lock();
    if (!sent && !asked.answer)
        lose(sent.error());
    std::optional<steady_clock::time_point> givenUp;
    while (!asked.answer) {
        changed.wait_for(lock, kLook);
        if (asked.answer || !stops())
            continue;
        if (!givenUp) {
            // Only a question with a job has an end that is worth waiting for.
            givenUp = steady_clock::now() + (question.job != nullptr ? kCancelPatience : milliseconds(0));
            const uint64_t id = ++lastId;
            lock.unlock();
            (void)send({.id = id, .ask = std::string(serve::ask::kCancel), .of = request.id}, {});
            lock.lock();
        } else if (steady_clock::now() > *givenUp) {
            return forward(cancelled());
        }
    }
    return std::move(*asked.answer);
}

FarHost::FarHost(std::string host)
    : m_name(std::move(host))
{
}

FarHost::~FarHost() = default;

/// Waits for another thread that connects, and else does it.
Result<std::shared_ptr<FarHost::Connection>> FarHost::connection(const FarQuestion& question)
{
    const FarSettings settings = farSettings();
    std::unique_lock connecting(m_connecting, std::defer_lock);
    while (!connecting.try_lock_for(kLook)) {
        if (isStopped(question, settings))
            return forward(cancelled());
    }
    {
        const std::lock_guard lock(m_mutex);
        if (m_failed)
            return forward(*m_failed);
        if (m_connection)
            return m_connection;
        if (isStopped(question, settings))
            return forward(cancelled());
        m_began = steady_clock::now();
        m_doing.clear();
        m_asks.clear();
        m_attempt = std::stop_source();
        m_isGivenUp = false;
    }
    return connect(settings);
}

/// With m_connecting locked.
Result<std::shared_ptr<FarHost::Connection>> FarHost::connect(FarSettings settings)
{
    auto made = std::make_shared<Connection>(m_name);
    made->settings = settings;
    const std::stop_callback onEnd(
        settings.stop, [attempt = m_attempt]() mutable { attempt.request_stop(); });
    settings.stop = m_attempt.get_token();
    settings.says = [this, says = std::move(settings.says)](std::string_view doing) {
        {
            const std::lock_guard lock(m_mutex);
            m_doing = doing;
        }
        if (says)
            says(doing);
    };
    settings.asks = [this](std::string_view what) {
        const std::lock_guard lock(m_mutex);
        m_asks = what;
    };
    const Status started = made->start(std::move(settings));
    const std::lock_guard lock(m_mutex);
    m_began.reset();
    if (started) {
        m_connection = std::move(made);
        return m_connection;
    }
    if (m_isGivenUp)
        m_failed = Error{ErrorCode::Unreadable, "the connection was stopped while it was made", m_name, {}};
    else if (started.error().code != ErrorCode::Cancelled) // else of one job; others connect again
        m_failed = started.error();
    return forward(m_failed ? *m_failed : started.error());
}

Result<FarAnswer> FarHost::ask(const FarQuestion& question)
{
    const auto connected = connection(question);
    auto answer = connected ? (*connected)->ask(question) : Result<FarAnswer>(forward(connected.error()));
    // A lost connection says nothing about files. A stop is no outage.
    if (!answer && answer.error().code != ErrorCode::Cancelled && isLost())
        io::noteOutage(answer.error(), m_name);
    return answer;
}

bool FarHost::isLost() const
{
    const std::lock_guard lock(m_mutex);
    if (m_failed)
        return true;
    if (!m_connection)
        return false;
    const std::lock_guard inner(m_connection->mutex);
    return m_connection->lost.has_value();
}

FarTraffic FarHost::traffic() const
{
    const std::lock_guard lock(m_mutex);
    if (!m_connection)
        return {};
    const std::lock_guard inner(m_connection->mutex);
    FarTraffic out = m_connection->traffic;
    out.bytesSent = m_connection->bytesSent;
    return out;
}

FarCondition FarHost::condition() const
{
    using State = FarCondition::State;
    const auto since = [](steady_clock::time_point time) {
        return std::chrono::duration_cast<milliseconds>(steady_clock::now() - time);
    };
    const std::lock_guard lock(m_mutex);
    if (m_began)
        return {.state = State::Connecting, .silent = since(*m_began), .doing = m_doing, .asks = m_asks};
    if (m_failed)
        return {.state = State::Lost, .why = m_failed->message};
    if (!m_connection)
        return {};
    const std::lock_guard inner(m_connection->mutex);
    if (m_connection->lost)
        return {.state = State::Lost, .why = m_connection->lost->message};
    return {.state = State::Connected,
        .silent = m_connection->pending.empty() ? milliseconds(0) : since(m_connection->heard)};
}

void FarHost::connectAgain()
{
    std::shared_ptr<Connection> ended; // its end waits for a thread
    const std::lock_guard lock(m_mutex);
    m_failed.reset();
    if (!m_connection)
        return;
    const std::lock_guard inner(m_connection->mutex);
    if (m_connection->lost)
        ended = m_connection;
    if (ended)
        m_connection.reset();
}

void FarHost::stopConnecting()
{
    const std::lock_guard lock(m_mutex);
    m_isGivenUp = m_began.has_value();
    if (m_isGivenUp)
        m_attempt.request_stop();
}

Error ofHost(Error error, const std::string& host)
{
    if (error.path.starts_with('/') || error.path.starts_with('~'))
        error.path = farPath(host, error.path).string();
    return error;
}

} // namespace shardscope::far
