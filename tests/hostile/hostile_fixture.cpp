// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/hostile_fixture.h"

#include "core/checkpoint/open/open.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/torch_file.h"
#include "tests/hostile/run_here.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <sys/stat.h>

namespace shardscope::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path samplePath(const std::string& name)
{
    return fs::path(sourceFolder()) / "tests/data/samples" / name;
}

fs::path copySample(const std::string& name, const TemporaryFolder& folder)
{
    const fs::path copy = folder / name;
    fs::copy(samplePath(name), copy, fs::copy_options::recursive);
    return copy;
}

Json runVerb(Words words, int exitCode)
{
    words.emplace_back("--json");
    const ProcessResult result = runHere(words);
    CAPTURE(words[0]);
    CAPTURE(result.out.substr(0, 1500));
    CAPTURE(result.err.substr(0, 3000));
    CHECK(result.exitCode == exitCode);
    return answerOf(result);
}

Json answerOf(const ProcessResult& result)
{
    Json object = Json::parse(result.out, nullptr, false);
    REQUIRE(object.is_object());
    const bool failed = object.at("schema") == "shardscope/error/1";
    const bool inPart = object.at("schema") == "shardscope/diff/1" && result.exitCode == 6;
    CHECK(failed == (result.exitCode > 1 && !inPart));
    if (failed) {
        CHECK(!object.at("code").get<std::string>().empty());
        CHECK(object.at("message").get<std::string>().size() > 10);
    }
    return object;
}

void checkRow(const fs::path& path, const Row& row, const std::string& word, const TemporaryFolder& folder)
{
    CAPTURE(path);
    const auto before = traceOf(folder.path());
    const auto says = [&](const Json& object) {
        const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
        CAPTURE(text.substr(0, 4000));
        CAPTURE(word);
        CHECK(text.find(word) != std::string::npos);
    };
    says(runVerb({"inspect", path}, row.inspect));
    runVerb({"files", path}, row.inspect);
    runVerb({"files", path, "--records"}, row.inspect);
    runVerb({"params", path}, row.model);
    runVerb({"layout", path}, row.model);
    runVerb({"show", path, kKnownParameter}, row.showsValues ? row.model : 3);
    runVerb({"verify", path}, row.verify);
    const Json refused = runVerb({"reshard", path, folder / "out", "-w", "3", "--dry-run"}, row.write);
    if (row.write != 0) {
        says(refused);
        says(runVerb({"reshard", path, folder / "out", "-w", "3"}, row.write));
        runVerb({"plan", "reshard", path, folder / "out", "-w", "3", "-o", folder / "plan"}, row.write);
    }
    CHECK(traceOf(folder.path()) == before); // nothing was written
}

std::map<std::string, std::string> traceOf(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    const auto add = [&](const fs::path& path) {
        struct stat status {
        };
        if (::lstat(path.c_str(), &status) != 0)
            return;
        out[path.string()] = std::to_string(status.st_mode) + " " + std::to_string(status.st_size) + " "
            + std::to_string(status.st_ino) + " " + std::to_string(status.st_mtim.tv_sec) + "."
            + std::to_string(status.st_mtim.tv_nsec);
    };
    add(folder);
    for (const auto& entry :
        fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
        add(entry.path());
    return out;
}

Result<CheckpointPtr> openFull(const fs::path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    if (!opened)
        return forward(opened.error());
    return opened->checkpoint;
}

NamedRecords recordsOf(const fs::path& file)
{
    JobContext job;
    const auto opened = TorchFile::open(io::realFileSystem(), file, ReadMode::Strict, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    const std::string bytes = slurp(file);
    NamedRecords out;
    for (const ZipRecord& record : (*opened)->zip().records())
        out.emplace_back(record.name, bytes.substr(record.payloadOffset, record.bytes));
    return out;
}

void writeRecords(const fs::path& file, const NamedRecords& records)
{
    spill(file, buildTorchArchive(records, file.stem().string()));
}

std::string& recordIn(NamedRecords& records, const std::string& name)
{
    const auto found = std::find_if(
        records.begin(), records.end(), [&](const auto& record) { return record.first == name; });
    REQUIRE(found != records.end());
    return found->second;
}

void editPickle(const fs::path& file, const PickleEdit& edit)
{
    NamedRecords records = recordsOf(file);
    std::string& stream = recordIn(records, "data.pkl");
    JobContext job;
    auto parsed = parsePickle(std::make_shared<const std::string>(stream), {}, job);
    REQUIRE(parsed.has_value());
    PickleBuilder builder;
    PickleImporter importer(builder, parsed->graph);
    edit(parsed->graph, builder, importer);
    const NodeId root = importer.import(parsed->graph.root());
    const PickleGraph made = builder.finish(root);
    auto text = emitPickle(made);
    REQUIRE(text.has_value());
    stream = std::move(*text);
    writeRecords(file, records);
}

void replaceAt(const fs::path& file, const Words& keys, const std::function<NodeId(PickleBuilder&)>& value)
{
    editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        NodeId node = graph.root();
        NodeId parent = kNoNode;
        for (const std::string& key : keys) {
            parent = node;
            node = lookup(graph, node, key);
            if (node == kNoNode && &key == &keys.back()) {
                const NodeId built = importer.import(parent);
                builder.setItem(built, builder.string(key), value(builder));
                return;
            }
            REQUIRE_MESSAGE(node != kNoNode, key);
        }
        importer.substitute(node, value(builder));
    });
}

} // namespace shardscope::test
