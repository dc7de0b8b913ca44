// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder app/cli/serve: the verb `serve`, which answers requests on standard input until it ends. The
// protocol itself is in core/serve. Start with Server.

#include "app/cli/frame/output.h"
#include "core/base/parallel.h"
#include "core/engine/parts/emit.h"
#include "core/io/stream_file.h"
#include "core/plan/saved/saved_plan.h"
#include "core/serve/frame.h"
#include "core/serve/messages.h"
#include "core/serve/packing.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <variant>

namespace shardscope::cli {

/// Sends frames. Thread-safe: a frame is never inside another one.
class Channel
{
public:
    explicit Channel(io::StreamFile stream)
        : m_stream(std::move(stream))
    {
    }
    /// WriteFailed when the client reads no more; Cancelled after end().
    Status send(const serve::Reply& reply, std::string_view payload);
    /// From now on, payloads are packed where it pays.
    void pack() { m_packs = true; }
    /// Sends nothing more, not even the rest of a frame that waits for the client.
    void end() { m_ended.request_stop(); }

private:
    std::atomic<bool> m_packs = false;
    std::stop_source m_ended;
    JobContext m_job{m_ended.get_token()};
    std::mutex m_mutex;
    serve::Packer m_packer;
    io::StreamFile m_stream;
};

struct ServerSettings {
    EmitOptions emit;
    unsigned workers = 4; ///< requests at once; others wait
    std::vector<uint32_t> descriptors = {}; ///< those that planned files may be written to
    /// Runs a command that only reads, as run.h says.
    std::function<int(const std::vector<std::string>& words, const OutputSinks& sinks, JobContext& job)>
        answer;
    /// Runs one that writes as a job of its own, or `jobs`; empty: refused.
    std::function<int(const std::vector<std::string>& words, const OutputSinks& sinks, JobContext& job)> job
        = {};
    /// All that the command of these words finds, as processes of one job exchange it.
    std::function<Result<std::string>(const std::vector<std::string>& words, JobContext& job)> raw;
    io::FileSystem* plainFiles = nullptr; ///< for calls on files: skeletons are files there
    /// Opens the checkpoint of these words.
    std::function<Result<OpenedCheckpoint>(const std::vector<std::string>& words, JobContext& job)> open;
};

/// Answers the requests of one client. Writes nothing but frames; jobs are processes of their own.
class Server
{
public:
    Server(io::FileSystem& files, Channel& channel, ServerSettings settings)
        : m_files(files)
        , m_channel(channel)
        , m_settings(std::move(settings))
    {
    }

    /// Reads frames until the input ends; then requests under way are cancelled. Hostile and Damaged if what
    /// arrives is no frame, LimitExceeded for too many requests at once, Cancelled when the job is stopped.
    Status run(int input, JobContext& job);

private:
    using Held = std::variant<PlannedAgain, OpenedCheckpoint>;
    struct Work {
        serve::Request request;
        std::string payload;
        std::stop_source stop;
    };

    Status read(int input, JobContext& job);
    Status take(serve::Frame frame);
    void cancel(const serve::Request& request); // with m_mutex locked
    /// Takes requests that wait: those about jobs, or the others. So a job can be stopped while every thread
    /// shows one.
    void work(bool ofJobs);
    void handle(const Work& work);
    /// Sends the progress of this request.
    JobContext::ProgressSink progressOf(uint64_t id);
    /// The last frame's fields and its payload.
    Result<std::string> dispatch(const Work& work, serve::Reply& last, JobContext& job);
    Result<std::string> answer(const Work& work, serve::Reply& last, JobContext& job);
    Result<std::string> raw(const Work& work, JobContext& job);
    Result<std::string> emit(const Work& work, JobContext& job);
    Result<std::string> combine(const Work& work, JobContext& job);
    Result<std::string> elements(const Work& work, serve::Reply& last, JobContext& job);
    Result<std::string> files(const Work& work);
    void startAlive(const serve::Request& request);
    Status hold(uint64_t id, Held held);
    Status close(uint64_t id);
    Result<std::shared_ptr<const Held>> heldOf(const serve::Request& request);
    Result<std::shared_ptr<const Held>> planOf(const serve::Request& request);
    void endAll();

    io::FileSystem& m_files;
    Channel& m_channel;
    ServerSettings m_settings;
    std::mutex m_mutex; ///< of all that follows
    std::condition_variable m_changed; ///< for workers
    std::condition_variable m_end; ///< m_ended was set
    std::deque<Work> m_waiting;
    std::map<uint64_t, std::stop_source> m_underWay; ///< by id; also those that wait
    std::map<uint64_t, std::shared_ptr<const Held>> m_held; ///< by the id of the request that opened it
    size_t m_waitingBytes = 0; ///< of payloads in m_waiting
    bool m_ended = false;
    serve::Unpacker m_unpacker; ///< of the thread that reads
    Thread m_alive; ///< says that the server is there; ends after endAll()
};

} // namespace shardscope::cli
