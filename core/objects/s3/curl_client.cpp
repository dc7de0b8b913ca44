// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/curl_client.h"

#include "core/base/build_info.h"
#include "core/base/current_stop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>

namespace shardscope::objects {

namespace {

using Clock = std::chrono::steady_clock;

constexpr long kConnectSeconds = 15;
constexpr long kSlowSeconds = 30;
constexpr long kSlowBytes = 1024; ///< a second
constexpr uint64_t kLeastBytes = uint64_t{16} << 10; ///< a second, of a whole answer
constexpr uint64_t kLongestPage = uint64_t{4} << 20; ///< of a listing whose names have the full length
constexpr int kPollMs = 100; ///< after which a stop is seen
constexpr unsigned kTries = 4;
constexpr size_t kFewestConnections = 4; ///< of one call, however many there are
constexpr size_t kErrorBytes = size_t{64} << 10;
constexpr size_t kHeaderBytes = size_t{64} << 10;

bool isGood(int status)
{
    return status >= 200 && status < 300;
}

/// All that a question may take, so that a store that sends a little now and then does not hold it for ever.
long longestMs(const HttpRequest& request)
{
    const uint64_t bytes
        = request.out.empty() ? std::min(request.bodyLimit, kLongestPage) : uint64_t{request.out.size()};
    return (kSlowSeconds + static_cast<long>(bytes / kLeastBytes)) * 1000;
}

/// Before a further try.
std::chrono::milliseconds pauseAfter(unsigned tries)
{
    return std::chrono::milliseconds(200) * (1 << (2 * (tries - 1)));
}

bool mayHelpToTryAgain(CURLcode code)
{
    return code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR
        || code == CURLE_PARTIAL_FILE || code == CURLE_COULDNT_CONNECT;
}

std::string lowerCase(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

Error stopped()
{
    return {ErrorCode::Cancelled, "stopped", {}, {}};
}

/// One question under way. It stays where it is, as libcurl knows its address.
struct Transfer {
    const CurlLibrary* curl = nullptr;
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    const HttpRequest* request = nullptr;
    HttpAnswer* answer = nullptr;
    uint64_t bytes = 0; ///< of the body, so far
    size_t headerBytes = 0;
    bool isTooLong = false;
    std::array<char, CURL_ERROR_SIZE> words{};

    [[nodiscard]] int status() const
    {
        long out = 0;
        curl->getInfo(easy, CURLINFO_RESPONSE_CODE, &out);
        return static_cast<int>(out);
    }

    size_t takeBody(std::string_view data)
    {
        const bool isWanted = isGood(status());
        const bool isInto = isWanted && !request->out.empty();
        const uint64_t limit = isInto ? request->out.size() : isWanted ? request->bodyLimit : kErrorBytes;
        if (data.size() > limit - bytes) {
            isTooLong = isWanted;
            return 0;
        }
        if (isInto)
            std::memcpy(request->out.data() + bytes, data.data(), data.size());
        else
            answer->body += data;
        bytes += data.size();
        return data.size();
    }

    size_t takeHeader(std::string_view line)
    {
        headerBytes += line.size();
        if (headerBytes > kHeaderBytes)
            return 0;
        if (line.starts_with("HTTP/")) // also after "100 Continue" and the answer of a proxy
            answer->headers.clear();
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos)
            return line.size();
        std::string_view value = line.substr(colon + 1);
        value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
        value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
        answer->headers.emplace_back(lowerCase(line.substr(0, colon)), value);
        return line.size();
    }
};

size_t onBody(char* data, size_t size, size_t count, void* transfer)
{
    return static_cast<Transfer*>(transfer)->takeBody({data, size * count});
}

size_t onHeader(char* data, size_t size, size_t count, void* transfer)
{
    return static_cast<Transfer*>(transfer)->takeHeader({data, size * count});
}

} // namespace

struct CurlClient::Connections {
    explicit Connections(const CurlLibrary& library)
        : curl(library)
        , multi(library.multiInit())
    {
    }
    ~Connections()
    {
        for (CURL* easy : easies)
            curl.easyCleanup(easy);
        if (multi != nullptr)
            curl.multiCleanup(multi);
    }
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    /// Null where memory is short.
    CURL* takeEasy()
    {
        if (easies.empty())
            return curl.easyInit();
        CURL* out = easies.back();
        easies.pop_back();
        return out;
    }

    const CurlLibrary& curl;
    CURLM* multi;
    std::vector<CURL*> easies; ///< unused
};

/// The questions of one call.
class CurlClient::Batch
{
public:
    Batch(CurlClient& client, Connections& connections, std::span<const HttpRequest> requests)
        : m_client(client)
        , m_curl(client.m_curl)
        , m_connections(connections)
        , m_requests(requests)
        , m_answers(requests.size())
        , m_tries(requests.size())
    {
        for (size_t i = 0; i < requests.size(); ++i)
            m_waiting.push_back({i, Clock::time_point()});
    }
    ~Batch()
    {
        while (!m_running.empty())
            end(m_running.begin());
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    std::vector<HttpAnswer> run()
    {
        while (!m_waiting.empty() || !m_running.empty()) {
            if (m_client.m_settings.stop.stop_requested() || isThreadStopped())
                giveUp(stopped());
            start();
            int running = 0;
            (void)m_curl.multiPerform(m_connections.multi, &running);
            int left = 0;
            while (const CURLMsg* message = m_curl.multiRead(m_connections.multi, &left)) {
                if (message->msg == CURLMSG_DONE)
                    take(message->easy_handle, message->data.result);
            }
            if (!m_running.empty() || !m_waiting.empty())
                (void)m_curl.multiPoll(m_connections.multi, nullptr, 0, pollMs(), nullptr);
        }
        return std::move(m_answers);
    }

private:
    struct Waiting {
        size_t number;
        Clock::time_point notBefore;
    };
    struct Running {
        size_t number;
        std::unique_ptr<Transfer> transfer;
    };

    [[nodiscard]] int pollMs() const
    {
        const bool mayStart = std::ranges::any_of(
            m_waiting, [](const Waiting& one) { return one.notBefore <= Clock::now(); });
        return mayStart && m_running.size() < most() ? 0 : kPollMs;
    }
    [[nodiscard]] size_t most() const
    {
        return std::max(kFewestConnections, kConnections / std::max<size_t>(m_client.m_calls, 1));
    }

    void start()
    {
        const Clock::time_point now = Clock::now();
        for (size_t tried = m_waiting.size(); tried > 0 && m_running.size() < most(); --tried) {
            const Waiting next = m_waiting.front();
            m_waiting.pop_front();
            if (next.notBefore > now)
                m_waiting.push_back(next);
            else
                start(next.number);
        }
    }

    void start(size_t number)
    {
        auto transfer = std::make_unique<Transfer>();
        transfer->curl = &m_curl;
        transfer->request = &m_requests[number];
        transfer->answer = &m_answers[number];
        m_answers[number] = {};
        transfer->easy = m_connections.takeEasy();
        if (transfer->easy == nullptr) {
            m_answers[number].failed = Error{ErrorCode::Unreadable, "there is not enough memory", {}, {}};
            return;
        }
        setUp(*transfer);
        ++m_tries[number];
        ++m_client.m_requests;
        (void)m_curl.multiAdd(m_connections.multi, transfer->easy);
        m_running.push_back({number, std::move(transfer)});
    }

    void setUp(Transfer& transfer) const
    {
        const auto set
            = [&](CURLoption option, auto value) { (void)m_curl.setOption(transfer.easy, option, value); };
        for (const auto& [name, value] : transfer.request->headers) {
            if (curl_slist* longer = m_curl.listAppend(transfer.headers, (name + ": " + value).c_str()))
                transfer.headers = longer;
        }
        static const std::string kAgent = "shardscope/" + std::string(buildInfo().version);
        set(CURLOPT_URL, transfer.request->url.c_str());
        set(CURLOPT_HTTPHEADER, transfer.headers);
        set(CURLOPT_NOBODY, transfer.request->isHead ? 1L : 0L);
        set(CURLOPT_USERAGENT, kAgent.c_str());
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_PATH_AS_IS, 1L);
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        if (!m_client.m_settings.certificates.empty())
            set(CURLOPT_CAINFO, m_client.m_settings.certificates.c_str());
        set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
        set(CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
        set(CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
        set(CURLOPT_TIMEOUT_MS, longestMs(*transfer.request));
        set(CURLOPT_ERRORBUFFER, transfer.words.data());
        set(CURLOPT_WRITEFUNCTION, &onBody);
        set(CURLOPT_WRITEDATA, &transfer);
        set(CURLOPT_HEADERFUNCTION, &onHeader);
        set(CURLOPT_HEADERDATA, &transfer);
    }

    /// A question has ended.
    void take(CURL* easy, CURLcode code)
    {
        const auto found
            = std::ranges::find_if(m_running, [&](const Running& one) { return one.transfer->easy == easy; });
        if (found == m_running.end())
            return;
        const size_t number = found->number;
        const Transfer& transfer = *found->transfer;
        HttpAnswer& answer = m_answers[number];
        answer.status = transfer.status();
        m_client.m_bytes += transfer.bytes;
        const bool isBusy = answer.status == 429 || answer.status >= 500;
        const bool isCut = code == CURLE_OK && isGood(answer.status) && !transfer.request->isHead
            && transfer.bytes != transfer.request->out.size() && !transfer.request->out.empty();
        if (m_tries[number] < kTries && (mayHelpToTryAgain(code) || isBusy || isCut))
            m_waiting.push_back({number, Clock::now() + pauseAfter(m_tries[number])});
        else if (transfer.isTooLong)
            answer.failed
                = Error{ErrorCode::Hostile, "the object store sends more than was asked for", {}, {}};
        else if (isCut || code == CURLE_PARTIAL_FILE)
            answer.failed
                = Error{ErrorCode::Unreadable, "the object store sends less than was asked for", {}, {}};
        else if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && answer.status >= 300))
            answer.failed = failure(transfer, code);
        end(found);
        // Each further one would wait as long.
        if (answer.failed && (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_COULDNT_CONNECT))
            giveUp(*answer.failed);
    }

    [[nodiscard]] Error failure(const Transfer& transfer, CURLcode code) const
    {
        const std::string words = transfer.words[0] != '\0' ? transfer.words.data() : m_curl.errorText(code);
        if (code == CURLE_OPERATION_TIMEDOUT)
            return {ErrorCode::Unreadable, "the object store does not answer: " + words, {}, {}};
        return {ErrorCode::Unreadable, "the object store cannot be reached: " + words, {}, {}};
    }

    /// Fails all questions that have no answer yet.
    void giveUp(const Error& why)
    {
        while (!m_running.empty()) {
            m_answers[m_running.front().number].failed = why;
            end(m_running.begin());
        }
        for (const Waiting& one : m_waiting)
            m_answers[one.number].failed = why;
        m_waiting.clear();
    }

    void end(std::vector<Running>::iterator one)
    {
        CURL* easy = one->transfer->easy;
        (void)m_curl.multiRemove(m_connections.multi, easy);
        m_curl.listFree(one->transfer->headers);
        m_curl.easyReset(easy); // it knows addresses of the transfer
        m_connections.easies.push_back(easy);
        m_running.erase(one);
    }

    CurlClient& m_client;
    const CurlLibrary& m_curl;
    Connections& m_connections;
    std::span<const HttpRequest> m_requests;
    std::vector<HttpAnswer> m_answers;
    std::vector<unsigned> m_tries;
    std::deque<Waiting> m_waiting;
    std::vector<Running> m_running;
};

CurlClient::CurlClient(const CurlLibrary& curl, HttpSettings settings)
    : m_curl(curl)
    , m_settings(std::move(settings))
{
}

CurlClient::~CurlClient() = default;

std::unique_ptr<CurlClient::Connections> CurlClient::borrow()
{
    const std::lock_guard lock(m_mutex);
    if (m_idle.empty())
        return std::make_unique<Connections>(m_curl);
    auto out = std::move(m_idle.back());
    m_idle.pop_back();
    return out;
}

void CurlClient::giveBack(std::unique_ptr<Connections> connections)
{
    const std::lock_guard lock(m_mutex);
    m_idle.push_back(std::move(connections));
}

std::vector<HttpAnswer> CurlClient::ask(std::span<const HttpRequest> requests)
{
    auto connections = borrow();
    ++m_calls;
    std::vector<HttpAnswer> out = Batch(*this, *connections, requests).run();
    --m_calls;
    giveBack(std::move(connections));
    return out;
}

StoreTraffic CurlClient::traffic() const
{
    return {m_requests, m_bytes};
}

Result<std::unique_ptr<HttpClient>> makeHttpClient(HttpSettings settings)
{
    SHARDSCOPE_TRY(const CurlLibrary* curl, curlLibrary());
    return std::unique_ptr<HttpClient>(std::make_unique<CurlClient>(*curl, std::move(settings)));
}

} // namespace shardscope::objects
