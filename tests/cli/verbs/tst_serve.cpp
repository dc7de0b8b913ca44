// SPDX-License-Identifier: Apache-2.0
// `shardscope serve` as a process: what it answers, and that it ends, writes nothing and survives its client.
#include "tests/cli/served.h"

#include <csignal>

using namespace shardscope;
using namespace shardscope::test;
using namespace shardscope::serve;

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

TEST_CASE("serve refuses what it does not hold, and answers the next request")
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

TEST_CASE(
    "serve sends all that `diff` and `stats` find, for a client of its version, and of no other command")
{
    const std::string left = samplePath("zero3-w4").string();
    const std::string right = samplePath("zero2-w2").string();
    Served served;
    const uint64_t diff = served.ask(asking(ask::kRaw), wordsPayload({"diff", left, right}));
    const uint64_t same = served.ask(asking(ask::kRaw), wordsPayload({"diff", left, left}));
    const uint64_t stats = served.ask(asking(ask::kRaw), wordsPayload({"stats", left, "--exact"}));
    const uint64_t other = served.ask(asking(ask::kRaw), wordsPayload({"inspect", left}));
    const uint64_t absent = served.ask(asking(ask::kRaw), wordsPayload({"diff", left, left + "/absent"}));
    const uint64_t written
        = served.ask(asking(ask::kRaw), wordsPayload({"reshard", left, left + "/x", "--world-size", "2"}));
    ProcessResult result;
    auto answers = served.answers(result);
    for (const uint64_t good : {diff, same, stats}) {
        CHECK(answers[good].last.reply == reply::kDone);
        CHECK(!answers[good].data.empty());
    }
    CHECK(answers[diff].data.size() > answers[same].data.size());
    CHECK(answers[other].error() == "usage");
    CHECK(answers[absent].error() == "not-found");
    CHECK(answers[written].error() == "usage");
    CHECK(answers[written].data.empty());
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

TEST_CASE("serve ends with its input, with a broken one, and by SIGTERM")
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
    Served served({"--jobs", "1", "--bwlimit", "20000"});
    // Slow enough to be under way still; the second one waits.
    const uint64_t slow = served.send(asking(ask::kAnswer), wordsPayload({"verify", source}));
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
