// SPDX-License-Identifier: Apache-2.0
// `shardscope serve`, asked at random.
#include "tests/cli/served.h"

#include <random>

using namespace shardscope;
using namespace shardscope::test;
using namespace shardscope::serve;

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
