// SPDX-License-Identifier: Apache-2.0
#include "core/engine/skeleton/skeleton.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/skeleton/skeleton_content.h"
#include "core/io/crc32.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/skeleton/skeleton_files.h"
#include "core/torchfile/torch_file.h"
#include "tests/core/engine/execute_fixture.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/places.h"
#include "tests/support/torch_archive_builder.h"

#include <algorithm>
#include <cerrno>

using namespace shardscope;
using namespace shardscope::test;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

std::shared_ptr<const TorchFile> openTorch(io::FileSystem& files, const io::Path& path)
{
    JobContext job;
    auto opened = TorchFile::open(files, path, ReadMode::Tolerant, job);
    REQUIRE_MESSAGE(opened, (opened ? "" : describe(opened.error())));
    return *opened;
}

OpenedCheckpoint openSample(io::FileSystem& files, const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(files, path, {}, job);
    REQUIRE_MESSAGE(opened, (opened ? "" : describe(opened.error())));
    return *opened;
}

SkeletonRequest requestFor(const io::Path& asked, const io::Path& out)
{
    SkeletonRequest request;
    request.asked = asked;
    request.out = out;
    request.checkJson = "{}\n";
    return request;
}

/// A model file with a client's secrets in every kind of value, and one tensor.
std::string modelFile()
{
    PickleBuilder builder;
    const auto text = [&](std::string_view what) { return builder.string(what); };
    const NodeId root = builder.dict();
    const auto tensorOf = [&](const char* key, int64_t elements) {
        const NodeId storage = builder.persistentId(builder.tuple(std::array{text("storage"),
            builder.global("torch", "FloatStorage"), text(key), text("cpu"), builder.integer(elements)}));
        return builder.reduce(builder.global("torch._utils", "_rebuild_tensor_v2"),
            builder.tuple(
                std::array{storage, builder.integer(0), builder.tuple(std::array{builder.integer(elements)}),
                    builder.tuple(std::array{builder.integer(1)}), builder.boolean(false),
                    builder.reduce(builder.global("collections", "OrderedDict"), builder.tuple({}))}));
    };
    const NodeId module = builder.dict();
    builder.setItem(module, text("layer.weight"), tensorOf("0", 24));
    builder.setItem(root, text("module"), module);
    const NodeId config = builder.dict();
    const NodeId offload = builder.dict();
    builder.setItem(offload, text("device"), text("nvme"));
    builder.setItem(offload, text("nvme_path"), text("/secret/disk"));
    builder.setItem(offload, text("buffer_count"), builder.integer(4321));
    builder.setItem(config, text("offload_param"), offload);
    builder.setItem(root, text("ds_config"), config);
    builder.setItem(root, text("global_steps"), builder.integer(987654));
    const NodeId args = builder.dict();
    builder.setItem(args, text("secret_key"), text("secret value"));
    builder.setItem(args, text("number"), builder.integer(1234567));
    builder.setItem(args, text("real"), builder.real(3.14159));
    builder.setItem(args, text("mean"), tensorOf("1", 3));
    builder.setItem(root, text("args"), args);
    builder.setItem(root, text("iteration"), builder.integer(7654321));
    const auto pickle = emitPickle(builder.finish(root));
    REQUIRE(pickle);
    return buildTorchArchive(*pickle, {std::string(96, 'W'), std::string(12, 'C')});
}

/// What a skeleton shows of one file, through its file system.
std::string keptOf(const KeptBytes& kept, uint64_t size)
{
    std::string out(size, '\0');
    readKept(kept.extents(), placesOf(kept.extents()), kept.bytes(), 0,
        {reinterpret_cast<uint8_t*>(out.data()), out.size()});
    return out;
}

SkeletonContent contentOf(const io::Path& path, PickleForm form, const std::set<std::string>& keep = {})
{
    JobContext job;
    auto content = skeletonContent(io::realFileSystem(), path, form, keep, job);
    REQUIRE_MESSAGE(content, (content ? "" : describe(content.error())));
    return std::move(*content);
}

bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a client's values are removed, and what DeepSpeed wrote stays in its place")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "mp_rank_00_model_states.pt";
    spill(path, modelFile());
    const SkeletonContent content = contentOf(path, PickleForm::ModelStates);
    CHECK(content.redactedKeys == std::set<std::string>{"args", "iteration"});
    CHECK(content.keptKeys.empty());
    const std::string& bytes = content.kept.bytes();
    CHECK(!has(bytes, "secret"));
    CHECK(!has(bytes, "number"));
    CHECK(!has(bytes, "WWWW"));
    CHECK(!has(bytes, "CCCC"));
    for (const char* name :
        {"layer.weight", "nvme", "offload_param", "buffer_count", "args", "iteration", "global_steps"})
        CHECK(has(bytes, name));

    const std::string shown = keptOf(content.kept, std::filesystem::file_size(path));
    spill(folder / "shown.pt", shown);
    const auto before = openTorch(io::realFileSystem(), path);
    const auto after = openTorch(io::realFileSystem(), folder / "shown.pt");
    CHECK(after->findings().empty()); // the pickle's checksum is right
    REQUIRE(after->zip().records().size() == before->zip().records().size());
    const PickleGraph& graph = after->pickle();
    CHECK(asInteger(graph, lookup(graph, graph.root(), "global_steps")) == 987654);
    CHECK(asInteger(graph, lookup(graph, graph.root(), "iteration")) == 0);
    const NodeId offload = lookup(graph, lookup(graph, graph.root(), "ds_config"), "offload_param");
    CHECK(asString(graph, lookup(graph, offload, "nvme_path")) == "xxxxxxxxxxxx");
    CHECK(asInteger(graph, lookup(graph, offload, "buffer_count")) == 4321);
    const NodeId args = lookup(graph, graph.root(), "args");
    const auto pairs = mappingItems(graph, args);
    REQUIRE(pairs.size() == 8);
    CHECK(asString(graph, pairs[0]) == "xxxxxxxxxx");
    CHECK(asNumber(graph, pairs[5]) == 0.0);
    const auto mean = asTensor(graph, pairs[7]); // of a tensor the shape stays
    REQUIRE(mean);
    CHECK(mean->sizes == Shape{3});
}

TEST_CASE("requested keys keep their values")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "mp_rank_00_model_states.pt";
    spill(path, modelFile());
    const SkeletonContent content = contentOf(path, PickleForm::ModelStates, {"args"});
    CHECK(content.redactedKeys == std::set<std::string>{"iteration"});
    CHECK(content.keptKeys == std::set<std::string>{"args"});
    CHECK(has(content.kept.bytes(), "secret value"));
    CHECK(!has(content.kept.bytes(), "/secret/disk"));
    CHECK(!has(content.kept.bytes(), "CCCC"));
}

TEST_CASE("checksums of small storages do not reveal them, a wrong one stays wrong")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "mp_rank_00_model_states.pt";
    spill(path, modelFile());
    const auto before = openTorch(io::realFileSystem(), path);
    spill(folder / "shown.pt",
        keptOf(contentOf(path, PickleForm::ModelStates).kept, std::filesystem::file_size(path)));
    const auto after = openTorch(io::realFileSystem(), folder / "shown.pt");
    const auto checksum = [](const TorchFile& file, const char* name) {
        return file.zip().records()[*file.zip().find(name)].crc32;
    };
    CHECK(checksum(*after, "data/0") == checksum(*before, "data/0"));
    CHECK(checksum(*after, "data/1") != checksum(*before, "data/1"));

    std::string damaged = modelFile();
    damaged[damaged.find("layer.weight")] = 'L';
    spill(path, damaged);
    const SkeletonContent content = contentOf(path, PickleForm::ModelStates);
    spill(folder / "shown.pt", keptOf(content.kept, damaged.size()));
    const auto findings = openTorch(io::realFileSystem(), folder / "shown.pt")->findings();
    CHECK(std::any_of(findings.begin(), findings.end(),
        [](const Finding& finding) { return finding.code == "record-corrupt"; }));
}

TEST_CASE("what torch does not write is not kept: comments, other records, bytes after the pickle")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "mp_rank_00_model_states.pt";
    const std::string pickle = "\x80\x02}.a secret behind it";
    spill(path,
        buildForeignArchive(
            {{"archive/data.pkl", pickle}, {"archive/version", "3\n"},
                {"archive/notes.txt", "a secret record"}, {"archive/data/0", "a secret tensor"}},
            "a secret comment"));
    const SkeletonContent content = contentOf(path, PickleForm::ModelStates);
    CHECK(!has(content.kept.bytes(), "secret"));
    CHECK(has(content.kept.bytes(), "archive/notes.txt"));
    spill(folder / "shown.pt", keptOf(content.kept, std::filesystem::file_size(path)));
    const auto shown = openTorch(io::realFileSystem(), folder / "shown.pt");
    CHECK(shown->zip().records().size() == 4);
    CHECK(shown->findings().size() == openTorch(io::realFileSystem(), path)->findings().size());
}

TEST_CASE("files in torch's legacy form keep their pickles alone")
{
    const io::Path file = io::Path(sourceFolder()) / "tests/data/legacy/dtypes.pt";
    const TemporaryFolder folder;
    const SkeletonContent content = contentOf(file, PickleForm::Tensors);
    spill(folder / "shown.pt", keptOf(content.kept, std::filesystem::file_size(file)));
    const auto before = openTorch(io::realFileSystem(), file);
    const auto after = openTorch(io::realFileSystem(), folder / "shown.pt");
    REQUIRE(after->isLegacy());
    REQUIRE(after->zip().records().size() == before->zip().records().size());
    uint64_t values = 0;
    for (const ZipRecord& record : before->zip().records())
        values += record.name == "data.pkl" ? 0 : record.bytes;
    CHECK(content.kept.bytes().size() + values <= std::filesystem::file_size(file));
    CHECK(values > 0);
}

TEST_CASE("no part of a storage is in the skeleton of any sample, but steps")
{
    for (const char* name :
        {"zero2-w2", "zero3-w4", "pipeline-w4", "stage0-bf16", "zero2-universal-w2", "slices-w4"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const io::Path out = folder / "s.zip";
        SkeletonFiles files(io::realFileSystem());
        const OpenedCheckpoint source = openSample(files, kSamples / name);
        JobContext job;
        const auto report = writeSkeleton(files, *source.checkpoint, requestFor(kSamples / name, out), job);
        REQUIRE_MESSAGE(report, (report ? "" : describe(report.error())));
        CHECK(report->bytesAfter == std::filesystem::file_size(out));
        CHECK(!std::filesystem::exists(folder / ".s.zip.partial"));
        const OpenedCheckpoint shown = openSample(files, out);
        REQUIRE(isSkeleton(*shown.checkpoint));
        CHECK(shown.checkpoint->params.size() == source.checkpoint->params.size());
        size_t storages = 0;
        for (const CheckpointFile& file : source.checkpoint->files) {
            if (!file.content)
                continue;
            const auto there = files.openRead(shown.checkpoint->tagFolder / file.name);
            REQUIRE(there);
            for (const ZipRecord& record : file.content->zip().records()) {
                if (!record.name.starts_with("data/") || record.bytes <= 8)
                    continue;
                std::vector<uint8_t> bytes(record.bytes);
                const Status read = (*there)->readAt(record.payloadOffset, bytes);
                CHECK(!read);
                CHECK(read.error().code == ErrorCode::Unsupported);
                ++storages;
            }
        }
        CHECK(storages > 4);
    }
}

TEST_CASE("if any call fails, there is a complete skeleton or none, and nothing else has changed")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    std::filesystem::copy(kSamples / "zero2-w2", folder / "run", std::filesystem::copy_options::recursive);
    const auto source = treeOf(folder / "run");
    const OpenedCheckpoint opened = openSample(io::realFileSystem(), folder / "run");
    std::filesystem::create_directory(folder / "out");
    const io::Path out = folder / "out/s.zip";
    for (uint64_t call = 1;; ++call) {
        CAPTURE(call);
        std::filesystem::remove_all(folder / "out");
        std::filesystem::create_directory(folder / "out");
        io::FaultingFileSystem files(io::realFileSystem(), {.callNumber = call, .errnoValue = ENOSPC});
        JobContext job;
        const auto report = writeSkeleton(files, *opened.checkpoint, requestFor(folder / "run", out), job);
        CHECK(treeOf(folder / "run") == source);
        const auto left = treeOf(folder / "out");
        if (!files.faultWasHit()) {
            REQUIRE(report);
            CHECK(left.size() == 1);
            break;
        }
        if (std::filesystem::exists(out)) { // an unreadable file is listed, not omitted
            CHECK(SkeletonArchive::read(io::realFileSystem(), out));
            CHECK(left.size() == 1);
        } else {
            CHECK(!report);
            CHECK(left.empty());
        }
    }
}

TEST_CASE("invalid sources and targets are refused before anything is read")
{
    const TemporaryFolder folder;
    SkeletonFiles files(io::realFileSystem());
    std::filesystem::copy(kSamples / "zero2-w2", folder / "run", std::filesystem::copy_options::recursive);
    const OpenedCheckpoint opened = openSample(files, folder / "run");
    const auto codeFor = [&](const io::Path& out, const std::set<std::string>& keep = {}) {
        SkeletonRequest request = requestFor(folder / "run", out);
        request.keep = keep;
        JobContext job;
        const auto report = writeSkeleton(files, *opened.checkpoint, request, job);
        return report ? ErrorCode::Internal : report.error().code;
    };
    CHECK(codeFor(folder / "s.tar") == ErrorCode::Usage);
    CHECK(codeFor(folder / "run/s.zip") == ErrorCode::Usage);
    CHECK(codeFor(folder / "run/global_step6/s.zip") == ErrorCode::Usage);
    CHECK(codeFor(folder / "none/s.zip") == ErrorCode::NotFound);
    CHECK(codeFor(folder / "s.zip", {"no such key"}) == ErrorCode::Usage);
    spill(folder / "s.zip", "something else");
    CHECK(codeFor(folder / "s.zip") == ErrorCode::TargetExists);
    CHECK(slurp(folder / "s.zip") == "something else");
    SkeletonRequest request = requestFor(folder / "run", folder / "s.zip");
    request.force = true;
    JobContext job;
    REQUIRE(writeSkeleton(files, *opened.checkpoint, request, job));
    const std::string first = slurp(folder / "s.zip");
    REQUIRE(writeSkeleton(files, *opened.checkpoint, request, job));
    CHECK(slurp(folder / "s.zip") == first);
    const OpenedCheckpoint skeleton = openSample(files, folder / "s.zip");
    const auto again
        = writeSkeleton(files, *skeleton.checkpoint, requestFor(folder / "s.zip", folder / "t.zip"), job);
    REQUIRE(!again);
    CHECK(again.error().code == ErrorCode::Unsupported);
}
