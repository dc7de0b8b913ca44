// SPDX-License-Identifier: Apache-2.0
// `shardscope serve` as a process: what it answers, and that it ends, writes nothing and survives its client.
#include "core/serve/frame.h"
#include "core/serve/messages.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace shardscope;
using namespace shardscope::test;
using namespace shardscope::serve;

namespace {

/// What came back for one request.
struct Answer {
    std::string data;
    std::string file;
    Reply last;
    std::string payload; ///< of the last frame
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(data); }
    [[nodiscard]] std::string error() const
    {
        return last.reply == reply::kError ? nlohmann::json::parse(payload).value("code", "") : "";
    }
};

Request asking(std::string_view what, uint64_t of = 0)
{
    Request out;
    out.ask = what;
    out.of = of;
    return out;
}

std::string readFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A server with a pipe as its input.
class Served
{
public:
    explicit Served(const Words& options = {}, const std::string& before = {})
    {
        const std::string pipe = (m_folder / "input").string();
        REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
        m_input = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        Words words{"/bin/sh", "-c", before + "exec \"$0\" serve \"$@\" <\"$SERVE_INPUT\"", programPath()};
        words.insert(words.end(), options.begin(), options.end());
        m_process.emplace(words, ProcessOptions{.environment = {{"SERVE_INPUT", pipe}}});
        REQUIRE(m_process->waitForOutput("\"hello\"")); // it has opened the pipe
    }
    ~Served() { end(); }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    /// Its id.
    uint64_t send(Request request, std::string_view payload = {})
    {
        if (request.id == 0)
            request.id = ++m_last;
        write(frameStart(requestText(request), payload.size()).append(payload));
        return request.id;
    }
    /// Throws if the server does not read it.
    void write(std::string_view bytes) const
    {
        while (!bytes.empty()) {
            pollfd wait{m_input, POLLOUT, 0};
            const bool isReady = ::poll(&wait, 1, 20'000) == 1;
            const ssize_t count = isReady ? ::write(m_input, bytes.data(), bytes.size()) : -1;
            if (count <= 0)
                throw std::runtime_error("the server does not read its input");
            bytes.remove_prefix(static_cast<size_t>(count));
        }
    }
    void waitFor(uint64_t id)
    {
        const std::string start = "{\"id\":" + std::to_string(id) + ",\"reply\":\"";
        REQUIRE(m_process->waitForOutput(std::vector{start + "done\"", start + "error\""}));
    }
    /// Both.
    uint64_t ask(Request request, std::string_view payload = {})
    {
        const uint64_t id = send(std::move(request), payload);
        waitFor(id);
        return id;
    }
    [[nodiscard]] Process& process() { return *m_process; }
    /// Ends the input; the answers by id, and what the process left.
    /// `isIdle`: no request is under way then.
    std::map<uint64_t, Answer> answers(ProcessResult& result, bool isAlive = true, bool isIdle = true)
    {
        if (isAlive)
            ask(asking(ask::kCancel, 1)); // what was sent before has arrived whole then
        end();
        result = m_process->wait();
        FrameReader reader;
        reader.add({reinterpret_cast<const uint8_t*>(result.out.data()), result.out.size()});
        std::map<uint64_t, Answer> out;
        for (auto next = reader.next(); next && *next; next = reader.next()) {
            const auto header = nlohmann::json::parse((*next)->header);
            CHECK(schemaErrors(readSchema("serve-reply"), header, true).empty());
            const auto reply = parseReply((*next)->header);
            REQUIRE(reply.has_value());
            Answer& answer = out[reply->id];
            if (reply->reply == reply::kData)
                answer.data += (*next)->payload;
            else if (reply->reply == reply::kFile)
                answer.file += (*next)->payload;
            else if (reply->reply != reply::kProgress)
                std::tie(answer.last, answer.payload) = std::pair(*reply, (*next)->payload);
        }
        CHECK_FALSE((isAlive && isIdle && reader.isInside()));
        return out;
    }

private:
    void end()
    {
        if (m_input >= 0)
            ::close(m_input);
        m_input = -1;
    }

    TemporaryFolder m_folder;
    int m_input = -1;
    uint64_t m_last = 0;
    std::optional<Process> m_process;
};

/// A plan that was saved and run.
struct Run {
    explicit Run(const std::string& sample, Words plan)
        : source(copySample(sample, folder))
    {
        plan.insert(plan.begin(), "plan");
        plan.insert(plan.begin() + 2, {source, (folder / "out").string()});
        words = plan;
        plan.insert(plan.end(), {"-o", path()});
        answerOf(plan);
        answer = answerOf({"run", path()});
    }
    [[nodiscard]] std::string path() const { return (folder / "plan.json").string(); }
    [[nodiscard]] std::string fileOf(const std::string& name) const
    {
        return readFile(folder / "out" / std::string(answer["plan"]["target"]) / name);
    }

    TemporaryFolder folder;
    std::string source;
    Words words; ///< of `plan`
    nlohmann::json answer;
};

} // namespace

TEST_CASE("serve answers commands that only read, as the command line does")
{
    const std::string source = samplePath("zero2-w2").string();
    Served served;
    const std::vector<Words> asked{{"inspect", source}, {"params", source}, {"tags", source},
        {"check", source}, {"fingerprint", source}, {"stats", source}, {"verify", source}, {"help", "emit"},
        {"inspect", source, "--help"}};
    std::vector<uint64_t> ids;
    for (const Words& words : asked)
        ids.push_back(served.send(asking(ask::kAnswer), wordsPayload(words)));
    for (const uint64_t id : ids)
        served.waitFor(id);
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(result.exitCode == 0);
    CHECK(result.err.empty());
    CHECK(answers[0].last.reply == reply::kHello);
    CHECK(answers[0].last.protocol == kProtocol);
    for (size_t i = 0; i < asked.size(); ++i) {
        CAPTURE(asked[i]);
        Words words = asked[i];
        words.emplace_back("--json");
        const ProcessResult alone = runShardscope(words);
        CHECK(answers[ids[i]].last.exit == alone.exitCode);
        nlohmann::json expected = nlohmann::json::parse(alone.out);
        nlohmann::json found = answers[ids[i]].json();
        for (auto* one : {&expected, &found}) {
            one->erase("seconds");
            if (!one->contains("results"))
                continue;
            for (auto& part : (*one)["results"])
                part.erase("seconds");
        }
        CHECK(found == expected);
    }
}

TEST_CASE("serve answers no command that writes")
{
    const TemporaryFolder folder;
    const std::string source = copySample("zero2-w2", folder);
    const auto before = contentOf(folder.path());
    const std::string out = (folder / "out").string();
    Served served;
    std::vector<uint64_t> ids;
    for (const Words& words : std::vector<Words>{{"reshard", source, out, "-w", "3"},
             {"ensure", source, "-w", "3"}, {"convert", source, out, "--to", "dcp"}, {"export", source, out},
             {"repair", source, out, "--fix", "all"}, {"skeleton", source, out},
             {"clean", source, "--remove"}, {"run", out}, {"emit", out, "x"}, {"serve"},
             {"completion", "bash"}, {"show", source, "norm.weight", "--npy", out},
             {"check", source, "--html", out}, {"inspect", source, "--log-file", out},
             {"plan", "reshard", source, out, "-w", "3", "-o", out}, {"--mpi", "stats", source}})
        ids.push_back(served.send(asking(ask::kAnswer), wordsPayload(words)));
    for (const uint64_t id : ids)
        served.waitFor(id);
    ProcessResult result;
    auto answers = served.answers(result);
    for (const uint64_t id : ids) {
        CAPTURE(id);
        CHECK(answers[id].last.exit == 2);
        CHECK(answers[id].json()["code"] == "usage");
    }
    CHECK(contentOf(folder.path()) == before);
}

TEST_CASE("serve holds plans: their files are those of a job, and the answers add up")
{
    Run run("zero3-w4", {"reshard", "-w", "3"});
    Served served;
    run.words.insert(run.words.end(), {"-o", "-"});
    const uint64_t planned = served.ask(asking(ask::kAnswer), wordsPayload(run.words));
    const uint64_t plan = served.ask(asking(ask::kPlan), readFile(run.path()));
    std::map<std::string, uint64_t> emitted;
    for (const auto& file : run.answer["plan"]["files"]) {
        Request request = asking(ask::kEmit, plan);
        request.file = file["path"];
        request.digest = true;
        emitted[request.file] = served.send(request);
    }
    for (const auto& [name, id] : emitted)
        served.waitFor(id);
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(result.exitCode == 0);
    CHECK(answers[planned].file == readFile(run.path()));
    CHECK(answers[planned].json()["plan"]["id"] == run.answer["plan"]["id"]);
    Words texts;
    for (const auto& [name, id] : emitted) {
        CAPTURE(name);
        CHECK(answers[id].last.reply == reply::kDone);
        CHECK(answers[id].data == run.fileOf(name));
        texts.push_back(answers[id].payload);
    }
    Served second;
    const uint64_t held = second.ask(asking(ask::kPlan), readFile(run.path()));
    const uint64_t sum = second.ask(asking(ask::kCombine, held), wordsPayload(texts));
    texts.pop_back();
    const uint64_t part = second.ask(asking(ask::kCombine, held), wordsPayload(texts));
    answers = second.answers(result);
    const auto whole = nlohmann::json::parse(answers[sum].payload);
    CHECK(whole["missing"].empty());
    CHECK(whole["fingerprint"] == run.answer["result"]["fingerprint"]);
    CHECK(nlohmann::json::parse(answers[part].payload)["missing"].size() == 1);
}

TEST_CASE("serve refuses what it does not hold, and goes on")
{
    const Run run("zero2-w2", {"reshard", "-w", "3"});
    Served served;
    const uint64_t plan = served.ask(asking(ask::kPlan), readFile(run.path()));
    Request request = asking(ask::kEmit, plan);
    request.file = "absent.pt";
    const uint64_t absent = served.ask(request);
    const uint64_t noPlan = served.ask(asking(ask::kEmit, 999));
    const uint64_t noTensor = served.ask(asking(ask::kElements, plan));
    const uint64_t open = served.ask(asking(ask::kOpen), wordsPayload({run.source}));
    const uint64_t notPlan = served.ask(asking(ask::kCombine, open));
    const uint64_t words = served.ask(asking(ask::kOpen), "no end");
    const uint64_t saved = served.ask(asking(ask::kPlan), "{}");
    const uint64_t closed = served.ask(asking(ask::kClose, plan));
    const uint64_t again = served.ask(asking(ask::kClose, plan));
    const uint64_t after = served.ask(asking(ask::kAnswer), wordsPayload({"inspect", run.source}));
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(answers[absent].error() == "not-found");
    CHECK(answers[noPlan].error() == "not-found");
    CHECK(answers[noTensor].error() != "");
    CHECK(answers[notPlan].error() == "usage");
    CHECK(answers[words].error() == "damaged");
    CHECK(answers[saved].error() == "usage");
    CHECK(answers[closed].last.reply == reply::kDone);
    CHECK(answers[again].error() == "not-found");
    CHECK(answers[after].last.exit == 0);
}

TEST_CASE("serve emits into a descriptor that it was started with, and into no other")
{
    const Run run("zero2-w2", {"export", "--format", "torch"});
    const std::string copy = (run.folder / "copy").string();
    Served served({"--to", "5"}, "exec 5>'" + copy + "' 6>'" + copy + "2'; ");
    const uint64_t plan = served.ask(asking(ask::kPlan), readFile(run.path()));
    Request request = asking(ask::kEmit, plan);
    request.file = "pytorch_model.bin";
    request.to = 5;
    const uint64_t good = served.ask(request);
    request.to = 6;
    const uint64_t other = served.ask(request);
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(answers[good].last.reply == reply::kDone);
    CHECK(answers[good].data.empty());
    CHECK(answers[other].error() == "usage");
    CHECK(readFile(copy) == readFile(run.folder / "out" / "pytorch_model.bin"));
    CHECK(std::filesystem::file_size(copy + "2") == 0);
    CHECK(runShardscope({"serve", "--to", "1"}).exitCode == 2);
    CHECK(runShardscope({"serve", "--to", "x"}).exitCode == 2);
}

TEST_CASE("serve sends elements of boxes")
{
    const TemporaryFolder folder;
    const std::string source = copySample("zero3-w4", folder);
    const std::string address = "layers.0.attention.wq.weight#exp_avg";
    const std::string npy = (folder / "whole.npy").string();
    const std::vector<uint64_t> shape = answerOf({"show", source, address, "--npy", npy})["shape"];
    REQUIRE(shape.size() == 2);
    Served served;
    Request request = asking(ask::kElements, served.ask(asking(ask::kOpen), wordsPayload({source})));
    request.address = address;
    const uint64_t whole = served.ask(request);
    request.box = {{1, 2}, {shape[0] - 2, 3}};
    const uint64_t box = served.ask(request);
    request.box = {{0, 0}, {shape[0] + 1, 1}};
    const uint64_t outside = served.ask(request);
    request.box = {};
    request.address = address + "[0:3]";
    const uint64_t range = served.ask(request);
    request.address = "absent";
    const uint64_t absent = served.ask(request);
    ProcessResult result;
    auto answers = served.answers(result);
    std::string expected = readFile(npy);
    expected = expected.substr(expected.size() - shape[0] * shape[1] * 4);
    CHECK(answers[whole].last.dtype == "float32");
    CHECK(answers[whole].data == expected);
    std::string part;
    for (uint64_t row = 1; row < shape[0] - 1; ++row)
        part += expected.substr((row * shape[1] + 2) * 4, 12);
    CHECK(answers[box].data == part);
    CHECK(answers[outside].error() == "usage");
    CHECK(answers[range].error() == "usage");
    CHECK(answers[absent].error() != "");
}

TEST_CASE("serve sends elements of the tensors of a planned distributed checkpoint")
{
    const Run run("zero3-w4", {"convert", "--to", "dcp"});
    Served served;
    const uint64_t plan = served.ask(asking(ask::kPlan), readFile(run.path()));
    std::vector<uint64_t> ids;
    for (uint64_t i = 0; i < 4; ++i) {
        Request tensor = asking(ask::kElements, plan);
        tensor.file = "__0_" + std::to_string(i) + ".distcp";
        ids.push_back(served.ask(tensor));
    }
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(answers[ids[0]].error() == "unsupported"); // has no tensor of the model
    for (size_t i = 1; i < ids.size(); ++i) {
        const std::string file = readFile(run.folder / "out" / ("__0_" + std::to_string(i) + ".distcp"));
        CHECK(answers[ids[i]].last.reply == reply::kDone);
        CHECK_FALSE(answers[ids[i]].last.dtype.empty());
        CHECK(file.find(answers[ids[i]].data) != std::string::npos);
    }
}

TEST_CASE("serve ends with its input, with a broken one, and when it is told to")
{
    const std::string source = samplePath("zero2-w2").string();
    const auto endOf = [&](const std::function<void(Served&)>& use) {
        Served served;
        use(served);
        ProcessResult result;
        (void)served.answers(result, false);
        return result;
    };
    CHECK(endOf([](Served&) {}).exitCode == 0);
    const ProcessResult inside = endOf([](Served& served) { served.write("abc"); });
    CHECK(inside.exitCode == 3);
    CHECK(inside.err.find("ends inside a frame") != std::string::npos);
    const ProcessResult large
        = endOf([](Served& served) { served.write(std::string_view("\xFF\xFF\xFF\xFF\0\0\0\0", 8)); });
    CHECK(large.exitCode == 3);
    CHECK(large.err.find("4294967295") != std::string::npos);
    const ProcessResult unknown = endOf([](Served& served) {
        const std::string header = R"({"id":1,"ask":"remove"})";
        served.write(frameStart(header, 0));
    });
    CHECK(unknown.exitCode == 3);
    const ProcessResult twice = endOf([&](Served& served) {
        Request request = asking(ask::kOpen);
        request.id = 7;
        served.send(request, wordsPayload({source}));
        served.waitFor(7);
        served.send(request, wordsPayload({source}));
    });
    CHECK(twice.exitCode == 3);
    CHECK(twice.err.find("the id 7") != std::string::npos);
    const ProcessResult told = endOf([](Served& served) {
        served.process().signal(SIGTERM);
        (void)served.process().waitForError("cancelled");
    });
    CHECK(told.exitCode == 130);
    CHECK(runShardscope({"serve"}, {.onTerminal = true}).exitCode == 2);
}

TEST_CASE("a request can be cancelled")
{
    const TemporaryFolder folder;
    const std::string source = copySample("zero2-w2", folder);
    Served served({"--jobs", "1"});
    // Slow enough to be under way still; the second one waits.
    const uint64_t slow
        = served.send(asking(ask::kAnswer), wordsPayload({"verify", source, "--bwlimit", "20000"}));
    const uint64_t waits = served.send(asking(ask::kAnswer), wordsPayload({"inspect", source}));
    served.send(asking(ask::kCancel, waits));
    served.send(asking(ask::kCancel, slow));
    served.waitFor(slow);
    served.waitFor(waits);
    ProcessResult result;
    auto answers = served.answers(result);
    CHECK(result.exitCode == 0);
    CHECK(answers[slow].last.exit == 130);
    CHECK(answers[waits].last.exit == 130);
}

TEST_CASE("5,000 random requests: none crashes the server, hangs it, or changes a file")
{
    const Run run("zero2-w2", {"convert", "--to", "dcp"});
    const auto before = contentOf(run.folder.path());
    const std::string plan = readFile(run.path());
    std::mt19937_64 random(29);
    const auto one = [&](const auto& list) { return *(std::begin(list) + random() % std::size(list)); };
    const Words names{"norm.weight", "norm.weight#exp_avg", "norm.weight#exp_avg[0:3]", "", "x#y",
        "dp0.tp0.pp0/group0+1", "__0_0.distcp", "__0_3.distcp", ".metadata", "../latest",
        std::string(3000, 'n')};
    const std::vector<uint64_t> numbers{0, 1, 2, 3, 16, 255, uint64_t{1} << 40, UINT64_MAX};
    const auto payload = [&]() -> std::string {
        switch (random() % 8) {
        case 0:
            return plan;
        case 1:
            return plan.substr(0, random() % plan.size());
        case 2:
            return wordsPayload({run.source});
        case 3:
            return wordsPayload({"params", run.source, "--rank", one(names)});
        case 4:
            return wordsPayload({"show", run.source, one(names), "--limit", "5"});
        case 5:
            return wordsPayload({"reshard", run.source, (run.folder / "made").string(), "-w", "1"});
        case 6:
            return "not ended";
        default:
            return {};
        }
    };
    for (int session = 0; session < 250; ++session) {
        CAPTURE(session);
        Served served;
        for (int i = 0; i < 20; ++i) {
            Request request = asking(one(kAsked), random() % 25);
            if (request.ask == ask::kCancel && i > 10)
                continue; // enough of them
            request.file = one(names);
            request.address = one(names);
            for (size_t d = random() % 4; d > 0; --d) {
                request.box.offsets.push_back(one(numbers));
                request.box.sizes.push_back(one(numbers));
            }
            request.to = static_cast<uint32_t>(random() % 3 == 0 ? random() % 12 : 0);
            request.digest = random() % 2 == 0;
            served.send(request, payload());
        }
        const bool broken = random() % 3 == 0;
        if (broken)
            served.write(std::string(1 + random() % 200, static_cast<char>(random())));
        ProcessResult result;
        (void)served.answers(result, !broken, false);
        CHECK(result.exitCode == (broken ? 3 : 0));
    }
    CHECK(contentOf(run.folder.path()) == before);
}
