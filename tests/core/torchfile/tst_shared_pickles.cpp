// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_file.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <thread>

using namespace shardscope;

namespace {

const io::Path kData = io::Path(sourceFolder()) / "tests/data";

std::shared_ptr<const TorchFile> open(
    const io::Path& path, SharedFiles* shared, SharedPickles::Reduce reduce = nullptr)
{
    JobContext job;
    auto opened = TorchFile::open(io::realFileSystem(), path, ReadMode::Strict, job, shared, reduce);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return std::move(*opened);
}

PickleGraph nothing(PickleGraph /*graph*/)
{
    PickleBuilder builder;
    return builder.finish(builder.none());
}

io::Path rankFile(int rank)
{
    return kData / "samples/zero3-w4/global_step5"
        / ("zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_model_states.pt");
}

} // namespace

TEST_CASE("files with the same pickle share it and its findings; others do not")
{
    SharedFiles shared;
    const auto zero = open(rankFile(0), &shared);
    const auto one = open(rankFile(1), &shared);
    const auto two = open(rankFile(2), &shared);
    CHECK(&zero->pickle() != &one->pickle());
    CHECK(&one->pickle() == &two->pickle());
    CHECK(one->identity() != two->identity());
    CHECK_FALSE(one->findings().empty());
    REQUIRE(one->findings().size() == two->findings().size());
    for (size_t i = 0; i < one->findings().size(); ++i)
        CHECK(one->findings()[i].code == two->findings()[i].code);
    CHECK(&open(rankFile(1), nullptr)->pickle() != &open(rankFile(2), nullptr)->pickle());
}

TEST_CASE("a partly kept pickle is not shared with one that was kept in full")
{
    SharedFiles shared;
    const auto little = open(rankFile(1), &shared, nothing);
    const auto whole = open(rankFile(2), &shared);
    CHECK(little->pickle().nodeCount() == 1);
    CHECK(whole->pickle().nodeCount() > 100);
    CHECK(&open(rankFile(3), &shared, nothing)->pickle() == &little->pickle());
    CHECK(&open(rankFile(3), &shared)->pickle() == &whole->pickle());
}

TEST_CASE("only the last few are remembered, and threads that parse concurrently share one")
{
    SharedFiles shared;
    const auto first = open(rankFile(1), &shared);
    for (const char* name : {"views.pt", "dtypes.pt"})
        open(kData / "torch" / name, &shared);
    CHECK(&open(rankFile(1), &shared)->pickle() == &first->pickle());
    for (const int rank : {0, 1})
        open(rankFile(rank), &shared, nothing);
    CHECK(&open(rankFile(1), &shared)->pickle() != &first->pickle());

    SharedFiles raced;
    std::vector<std::shared_ptr<const TorchFile>> files(4);
    std::vector<std::thread> threads;
    for (std::shared_ptr<const TorchFile>& file : files)
        threads.emplace_back([&] { file = open(rankFile(3), &raced); });
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& file : files)
        CHECK(&file->pickle() == &files.front()->pickle());
}
