// SPDX-License-Identifier: Apache-2.0
#include "app/cli/serve/server.h"

#include "app/cli/frame/exit.h"
#include "app/cli/jobs/parameter_words.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/serve/file_answers.h"
#include "core/base/build_info.h"
#include "core/base/parallel.h"
#include "core/checkpoint/model/require.h"
#include "core/layout/box_elements.h"
#include "core/report/answers/emit_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/show_report.h"
#include "core/report/jobs/jobs_report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr size_t kMaxUnderWay = 256;
constexpr size_t kMaxHeld = 64;
constexpr int kWaitMs = 200; // between two looks whether the job was stopped
constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::chrono::seconds kAliveEvery{5};

/// The bytes of one answer, in frames of a good size. The first error stays.
class DataFrames
{
public:
    DataFrames(Channel& channel, uint64_t id, std::string_view kind)
        : m_channel(channel)
        , m_reply{.id = id, .reply = std::string(kind)}
    {
    }

    Status add(std::string_view bytes)
    {
        while (m_status && !bytes.empty()) {
            const size_t piece = std::min(bytes.size(), serve::kPieceBytes - m_bytes.size());
            if (m_bytes.empty() && piece == serve::kPieceBytes) { // no need to copy it first
                m_status = m_channel.send(m_reply, bytes.substr(0, piece));
            } else {
                m_bytes.append(bytes.substr(0, piece));
                if (m_bytes.size() == serve::kPieceBytes)
                    (void)finish();
            }
            bytes.remove_prefix(piece);
        }
        return m_status;
    }
    Status add(std::span<const uint8_t> bytes)
    {
        return add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }

    Status finish()
    {
        if (m_status && !m_bytes.empty())
            m_status = m_channel.send(m_reply, m_bytes);
        m_bytes.clear();
        return m_status;
    }

private:
    Channel& m_channel;
    serve::Reply m_reply;
    std::string m_bytes;
    Status m_status;
};

/// Collects an answer that the last frame has as its payload.
template <class Write>
std::string textOf(const Write& write)
{
    std::string out;
    write([&](std::string_view text) { out += text; });
    return out;
}

/// The payload of the last frame of a request that failed.
std::string errorPayload(const Error& error, serve::Reply& last)
{
    last.reply = serve::reply::kError;
    last.exit = exitCode(error.code);
    return textOf([&](const TextSink& sink) { writeErrorJson(sink, error, {}, {}); });
}

/// The tensor of a planned file. Unsupported where it does not have exactly one.
Result<const ExportTensor*> tensorOf(const WritePlan& plan, const std::string& path)
{
    SHARDSCOPE_TRY(const uint32_t file, plannedFileNamed(plan, path));
    const ExportFacts* facts = plan.exported.get();
    if (facts == nullptr || file >= facts->tensorOfFile.size()
        || facts->tensorOfFile[file] >= facts->tensors.size())
        return fail(ErrorCode::Unsupported, "the planned file does not hold one tensor", path,
            "emit the file, or open the checkpoint and name a parameter");
    return &facts->tensors[facts->tensorOfFile[file]];
}

} // namespace

Status Channel::send(const serve::Reply& reply, std::string_view payload)
{
    serve::Reply sent = reply;
    const std::lock_guard lock(m_mutex);
    std::optional<std::string> packed;
    if (m_packs) {
        SHARDSCOPE_TRY(packed, m_packer.pack(payload));
    }
    if (packed) {
        sent.unpacked = payload.size();
        payload = *packed;
    }
    const std::string start = serve::frameStart(serve::replyText(sent), payload.size());
    for (const std::string_view part : {std::string_view(start), payload})
        SHARDSCOPE_CHECK(
            m_stream.write(std::span(reinterpret_cast<const uint8_t*>(part.data()), part.size()), m_job));
    return {};
}

Status Server::run(int input, JobContext& job)
{
    const serve::Reply hello{.reply = std::string(serve::reply::kHello),
        .protocol = serve::kProtocol,
        .version = std::string(buildInfo().version)};
    SHARDSCOPE_CHECK(m_channel.send(hello, {}));
    struct End {
        Server& server;
        ~End() { server.endAll(); }
    };
    std::vector<Thread> workers;
    const End atEnd{*this}; // also when memory runs out; before workers are joined
    if (m_settings.job) {
        workers.push_back(Thread::start([this] { work(true); }));
        if (!workers.back().isStarted())
            return forward(noThread());
    }
    const size_t others = workers.size();
    for (unsigned i = 0; i < std::max(m_settings.workers, 1U); ++i) {
        workers.push_back(Thread::start([this] { work(false); }));
        if (!workers.back().isStarted())
            workers.pop_back();
    }
    if (workers.size() == others)
        return forward(noThread());
    return read(input, job);
}

Status Server::read(int input, JobContext& job)
{
    serve::FrameReader reader;
    std::vector<uint8_t> buffer(kReadBytes);
    for (;;) {
        SHARDSCOPE_CHECK(job.poll());
        pollfd wait{input, POLLIN, 0};
        if (::poll(&wait, 1, kWaitMs) <= 0)
            continue;
        const ssize_t count = ::read(input, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (count < 0)
            return fail(
                ErrorCode::Unreadable, std::string("standard input cannot be read: ") + std::strerror(errno));
        if (count == 0 && reader.isInside())
            return fail(ErrorCode::Damaged, "the input ends inside a frame");
        if (count == 0)
            return {};
        reader.add(std::span(buffer).first(static_cast<size_t>(count)));
        for (;;) {
            SHARDSCOPE_TRY(std::optional<serve::Frame> frame, reader.next());
            if (!frame)
                break;
            SHARDSCOPE_CHECK(take(std::move(*frame)));
        }
    }
}

Status Server::take(serve::Frame frame)
{
    SHARDSCOPE_TRY(serve::Request request, serve::parseRequest(frame.header));
    if (request.unpacked > 0) {
        SHARDSCOPE_TRY(frame.payload, m_unpacker.unpack(frame.payload, request.unpacked));
    }
    const uint64_t id = request.id;
    const std::lock_guard lock(m_mutex);
    if (m_underWay.contains(id) || m_held.contains(id))
        return fail(ErrorCode::Damaged, "two requests have the id " + std::to_string(id));
    if (m_underWay.size() >= kMaxUnderWay)
        return fail(ErrorCode::LimitExceeded,
            "more than " + std::to_string(kMaxUnderWay) + " requests are under way");
    m_waitingBytes += frame.payload.size();
    if (m_waitingBytes > serve::kPayloadLimitBytes)
        return fail(ErrorCode::LimitExceeded, "the payloads of the requests that wait are too large");
    if (request.ask == serve::ask::kCancel) // at once; a worker replies, which may wait for the client
        cancel(request);
    Work work{std::move(request), std::move(frame.payload), {}};
    m_underWay.emplace(id, work.stop);
    m_waiting.push_back(std::move(work));
    m_changed.notify_all();
    return {};
}

void Server::cancel(const serve::Request& request)
{
    if (const auto found = m_underWay.find(request.of); found != m_underWay.end())
        found->second.request_stop();
}

void Server::endAll()
{
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    m_waiting.clear();
    for (auto& [id, stop] : m_underWay)
        stop.request_stop();
    m_changed.notify_all();
    m_end.notify_all();
    m_channel.end();
}

void Server::work(bool ofJobs)
{
    const auto isOurs = [&](const Work& work) {
        return (m_settings.job && work.request.ask == serve::ask::kJob) == ofJobs;
    };
    for (;;) {
        std::unique_lock lock(m_mutex);
        auto next = m_waiting.end();
        m_changed.wait(lock, [&] {
            next = std::ranges::find_if(m_waiting, isOurs);
            return m_ended || next != m_waiting.end();
        });
        if (m_ended)
            return;
        const Work work = std::move(*next);
        m_waiting.erase(next);
        m_waitingBytes -= work.payload.size();
        lock.unlock();
        handle(work);
    }
}

JobContext::ProgressSink Server::progressOf(uint64_t id)
{
    return [this, id](const Progress& progress) {
        (void)m_channel.send(
            {.id = id, .reply = std::string(serve::reply::kProgress)}, progressJson(progress));
    };
}

void Server::handle(const Work& work)
{
    const uint64_t id = work.request.id;
    JobContext job(work.stop.get_token(), progressOf(id));
    serve::Reply last{.id = id, .reply = std::string(serve::reply::kDone)};
    std::string payload;
    try {
        Result<std::string> done = dispatch(work, last, job);
        payload = done ? std::move(*done) : errorPayload(done.error(), last);
    } catch (const std::bad_alloc&) {
        payload = errorPayload({ErrorCode::Unreadable, "there is not enough memory", {}, {}}, last);
    } catch (const std::exception& error) {
        payload = errorPayload(
            {ErrorCode::Internal, std::string("internal error: ") + error.what(), {}, "please report it"},
            last);
    }
    {
        // Before the last frame: the client may use the id again as soon as it has it.
        const std::lock_guard lock(m_mutex);
        m_underWay.erase(id);
    }
    (void)m_channel.send(last, payload);
}

Result<std::string> Server::dispatch(const Work& work, serve::Reply& last, JobContext& job)
{
    const serve::Request& request = work.request;
    SHARDSCOPE_CHECK(job.poll());
    if (request.ask == serve::ask::kAnswer || request.ask == serve::ask::kJob)
        return answer(work, last, job);
    if (request.ask == serve::ask::kRaw)
        return raw(work, job);
    if (request.ask == serve::ask::kEmit)
        return emit(work, job);
    if (request.ask == serve::ask::kCombine)
        return combine(work, job);
    if (request.ask == serve::ask::kElements)
        return elements(work, last, job);
    if (request.ask == serve::ask::kFiles)
        return files(work);
    if (request.ask == serve::ask::kAlive)
        startAlive(request);
    if (request.ask == serve::ask::kOpen) {
        SHARDSCOPE_TRY(const std::vector<std::string> words, serve::parseWords(work.payload));
        SHARDSCOPE_TRY(OpenedCheckpoint opened, m_settings.open(words, job));
        SHARDSCOPE_CHECK(hold(request.id, std::move(opened)));
    } else if (request.ask == serve::ask::kPlan) {
        SHARDSCOPE_TRY(const SavedPlan saved, parseSavedPlan(work.payload, {}));
        auto again = planAgain(m_files, saved, saved.destination, job);
        if (!again)
            return forward(refusal(again.error()));
        SHARDSCOPE_CHECK(hold(request.id, std::move(*again)));
    } else if (request.ask == serve::ask::kClose) {
        SHARDSCOPE_CHECK(close(request.of));
    }
    return std::string();
}

Result<std::string> Server::answer(const Work& work, serve::Reply& last, JobContext& job)
{
    const auto& run = work.request.ask == serve::ask::kJob ? m_settings.job : m_settings.answer;
    if (!run)
        return fail(ErrorCode::Usage, "this server starts no jobs", {}, "start it with --allow-jobs");
    SHARDSCOPE_TRY(const std::vector<std::string> words, serve::parseWords(work.payload));
    DataFrames data(m_channel, work.request.id, serve::reply::kData);
    DataFrames file(m_channel, work.request.id, serve::reply::kFile);
    OutputSinks sinks{.answer = [&](std::string_view text) { return data.add(text).has_value(); },
        .file = [&](std::string_view text) { return file.add(text).has_value(); }};
    if (work.request.text)
        sinks.message = [&](std::string_view lines) {
            (void)m_channel.send(
                {.id = work.request.id, .reply = std::string(serve::reply::kMessage)}, lines);
        };
    sinks.progress = progressOf(work.request.id);
    sinks.host = work.request.host;
    last.exit = run(words, sinks, job);
    SHARDSCOPE_CHECK(file.finish());
    SHARDSCOPE_CHECK(data.finish());
    return std::string();
}

Result<std::string> Server::raw(const Work& work, JobContext& job)
{
    SHARDSCOPE_TRY(const std::vector<std::string> words, serve::parseWords(work.payload));
    SHARDSCOPE_TRY(const std::string found, m_settings.raw(words, job));
    DataFrames data(m_channel, work.request.id, serve::reply::kData);
    SHARDSCOPE_CHECK(data.add(std::string_view(found)));
    SHARDSCOPE_CHECK(data.finish());
    return std::string();
}

Result<std::string> Server::emit(const Work& work, JobContext& job)
{
    const serve::Request& request = work.request;
    SHARDSCOPE_TRY(const auto held, planOf(request));
    const WritePlan& plan = *std::get<PlannedAgain>(*held).plan;
    SHARDSCOPE_TRY(const uint32_t file, plannedFileNamed(plan, request.file));
    DataFrames data(m_channel, request.id, serve::reply::kData);
    std::optional<io::StreamFile> stream;
    if (request.to != 0) {
        if (std::ranges::find(m_settings.descriptors, request.to) == m_settings.descriptors.end())
            return fail(ErrorCode::Usage,
                "the server was not started with descriptor " + std::to_string(request.to), {},
                "name it with --to, or take the bytes as frames");
        SHARDSCOPE_TRY(stream, streamTo(static_cast<int>(request.to), plan));
    }
    const auto emitted = emitFile(
        m_files, plan, file,
        [&](std::span<const uint8_t> bytes) { return stream ? stream->write(bytes, job) : data.add(bytes); },
        m_settings.emit, job);
    if (!emitted)
        return forward(refusal(emitted.error()));
    SHARDSCOPE_CHECK(data.finish());
    return textOf([&](const TextSink& sink) { writeEmittedJson(sink, *emitted, request.digest); });
}

Result<std::string> Server::combine(const Work& work, JobContext& job)
{
    SHARDSCOPE_TRY(const auto held, planOf(work.request));
    SHARDSCOPE_TRY(const std::vector<std::string> answers, serve::parseWords(work.payload));
    std::vector<Emitted> emitted;
    for (const std::string& answer : answers) {
        SHARDSCOPE_TRY(emitted.emplace_back(), parseEmitted(answer, {}));
    }
    const auto sum
        = combineEmitted(m_files, *std::get<PlannedAgain>(*held).plan, emitted, m_settings.emit, job);
    if (!sum)
        return forward(refusal(sum.error()));
    return textOf([&](const TextSink& sink) { writeEmittedSumJson(sink, *sum); });
}

Result<std::string> Server::elements(const Work& work, serve::Reply& last, JobContext& job)
{
    const serve::Request& request = work.request;
    SHARDSCOPE_TRY(const auto held, heldOf(request));
    const Checkpoint* checkpoint = nullptr;
    StateBox part{kNoParam, {}, request.box};
    std::string state;
    if (const auto* planned = std::get_if<PlannedAgain>(held.get())) {
        SHARDSCOPE_TRY(const ExportTensor* tensor, tensorOf(*planned->plan, request.file));
        checkpoint = planned->plan->exported->laidOut.get();
        part.param = tensor->param;
        state = tensor->from;
        last.dtype = dtypeName(tensor->dtype);
    } else {
        checkpoint = std::get<OpenedCheckpoint>(*held).checkpoint.get();
        SHARDSCOPE_TRY(const Address address, addressAsked(*checkpoint, request.address));
        SHARDSCOPE_TRY(const ValueRange range, valueRangeOf(*checkpoint, address));
        if (range.end - range.begin != checkpoint->params[index(range.param)].elements)
            return fail(ErrorCode::Usage, "an address with a range does not name a tensor", request.address,
                "name a box in the tensor");
        part.param = range.param;
        state = range.state;
        last.dtype = dtypeName(range.dtype);
    }
    if (part.box.sizes.empty())
        part.box = wholeBox(checkpoint->params[index(part.param)].shape);
    part.state = state;
    DataFrames data(m_channel, request.id, serve::reply::kData);
    SHARDSCOPE_CHECK(readBox(
        m_files, *checkpoint, part, [&](std::span<const uint8_t> bytes) { return data.add(bytes); }, job));
    SHARDSCOPE_CHECK(data.finish());
    return std::string();
}

Result<std::string> Server::files(const Work& work)
{
    DataFrames data(m_channel, work.request.id, serve::reply::kData);
    SHARDSCOPE_TRY(std::string results,
        answerFileCalls(
            *m_settings.plainFiles, work.payload, [&](std::string_view bytes) { return data.add(bytes); }));
    SHARDSCOPE_CHECK(data.finish());
    return results;
}

/// On a thread of its own, because the others may all compute, and a client must know that from a lost
/// connection.
void Server::startAlive(const serve::Request& request)
{
    if (request.pack)
        m_channel.pack();
    const std::lock_guard lock(m_mutex);
    if (m_alive.isStarted() || m_ended)
        return;
    m_alive = Thread::start([this] {
        std::unique_lock inner(m_mutex);
        while (!m_end.wait_for(inner, kAliveEvery, [&] { return m_ended; })) {
            inner.unlock();
            (void)m_channel.send({.reply = std::string(serve::reply::kAlive)}, {});
            inner.lock();
        }
    });
}

Status Server::hold(uint64_t id, Held held)
{
    const std::lock_guard lock(m_mutex);
    if (m_held.size() >= kMaxHeld)
        return fail(ErrorCode::LimitExceeded,
            "more than " + std::to_string(kMaxHeld) + " checkpoints and plans are open", {},
            "close those that are not needed");
    m_held.emplace(id, std::make_shared<const Held>(std::move(held)));
    return {};
}

Status Server::close(uint64_t id)
{
    const std::lock_guard lock(m_mutex);
    if (m_held.erase(id) == 0)
        return fail(ErrorCode::NotFound, "request " + std::to_string(id) + " holds nothing");
    return {};
}

Result<std::shared_ptr<const Server::Held>> Server::heldOf(const serve::Request& request)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_held.find(request.of);
    if (found == m_held.end())
        return fail(ErrorCode::NotFound,
            "request " + std::to_string(request.of) + " holds neither a checkpoint nor a plan", {},
            "wait for the end of `open` or `plan`");
    return found->second;
}

Result<std::shared_ptr<const Server::Held>> Server::planOf(const serve::Request& request)
{
    SHARDSCOPE_TRY(auto held, heldOf(request));
    if (!std::holds_alternative<PlannedAgain>(*held))
        return fail(ErrorCode::Usage, "request " + std::to_string(request.of) + " holds no plan");
    return held;
}

} // namespace shardscope::cli
