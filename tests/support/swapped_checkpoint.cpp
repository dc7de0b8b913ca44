// SPDX-License-Identifier: Apache-2.0
#include "tests/support/swapped_checkpoint.h"

#include "core/checkpoint/open/open.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace shardscope::test {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const TorchFile> openTorch(const fs::path& path)
{
    JobContext job;
    auto opened = TorchFile::open(io::realFileSystem(), path, ReadMode::Strict, job);
    if (!opened)
        throw std::runtime_error(describe(opened.error()));
    return *opened;
}

CheckpointPtr openPlain(const fs::path& tagFolder)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), tagFolder, {}, job);
    if (!opened || (*opened).checkpoint->modelError)
        throw std::runtime_error("the plain checkpoint cannot be read");
    return opened->checkpoint;
}

std::string idIn(const Checkpoint& checkpoint, uint32_t number, bool allParams)
{
    uint32_t first = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::SubGroup)
            continue;
        const auto count = static_cast<uint32_t>(unit.params.size());
        if (*unit.subgroup == number && !allParams)
            return fmt::format("{}_{}", first, first + count - 1);
        std::string all;
        for (uint32_t i = 0; i < count; ++i)
            all += (i == 0 ? "" : "_") + std::to_string(first + i);
        if (*unit.subgroup == number)
            return all;
        first += count;
    }
    throw std::runtime_error("no such sub-group");
}

/// Rewrites one optimizer file and writes the swap files of its rank.
class RankSwapper
{
public:
    RankSwapper(const Checkpoint& checkpoint, fs::path path, const SwapForm& form, fs::path folder)
        : m_checkpoint(checkpoint)
        , m_path(std::move(path))
        , m_form(form)
        , m_folder(std::move(folder))
        , m_file(openTorch(m_path))
        , m_bytes(slurp(m_path))
        , m_graph(m_file->pickle())
        , m_importer(m_builder, m_graph)
    {
    }

    void run()
    {
        fs::create_directories(m_folder);
        const NodeId wrapper = lookup(m_graph, m_graph.root(), "optimizer_state_dict");
        const auto masters = sequenceItems(m_graph, lookup(m_graph, wrapper, "fp32_flat_groups"));
        const NodeId states = lookup(m_graph, lookup(m_graph, wrapper, "optimizer_state_dict"), "state");
        for (uint32_t i = 0; i < masters.size(); ++i) {
            m_id = idIn(m_checkpoint, i, m_form.allParams);
            const bool swapped
                = std::find(m_form.subgroups.begin(), m_form.subgroups.end(), i) != m_form.subgroups.end();
            replace(masters[i], {}, swapped);
            const auto items = mappingItems(m_graph, lookup(m_graph, states, int64_t{i}));
            for (size_t at = 0; swapped && at + 1 < items.size(); at += 2) {
                const auto tensor = asTensor(m_graph, items[at + 1]);
                if (tensor && tensor->sizes.size() == 1)
                    replace(items[at + 1], std::string(*asString(m_graph, items[at])) + "-", true);
            }
        }
        save();
    }

private:
    void replace(NodeId node, const std::string& prefix, bool swapped)
    {
        const auto tensor = asTensor(m_graph, node);
        const auto extent = m_file->extentOf(*tensor);
        std::string payload = m_bytes.substr(extent->byteOffset, extent->bytes);
        m_replaced.push_back("data/" + std::string(tensor->storage.key));
        if (swapped) {
            std::string stored = payload;
            stored.resize((stored.size() + 1023) / 1024 * 1024, '\x5a'); // what the buffer held before
            spill(m_folder / (prefix + m_id + ".tensor.swp"), stored);
            if (!m_form.pipelined)
                payload.clear();
            for (char& byte : payload)
                byte = static_cast<char>(byte ^ 1);
        }
        m_importer.substitute(node, makeTensor(std::move(payload), tensor->requiresGrad, prefix + m_id));
    }

    NodeId text(std::string_view value) { return m_builder.string(value); }
    NodeId tuple(const std::vector<NodeId>& items) { return m_builder.tuple(items); }

    NodeId makeTensor(std::string payload, bool requiresGrad, const std::string& id)
    {
        const auto count = static_cast<int64_t>(payload.size() / 4);
        const std::string key = "swapped" + std::to_string(m_storages.size());
        m_storages.emplace_back("data/" + key, std::move(payload));
        const NodeId storage = m_builder.persistentId(tuple({text("storage"),
            m_builder.global("torch", "FloatStorage"), text(key), text("cpu"), m_builder.integer(count)}));
        const NodeId hooks = m_builder.reduce(m_builder.global("collections", "OrderedDict"), tuple({}));
        const NodeId rebuild = m_builder.global("torch._utils", "_rebuild_tensor_v2");
        const NodeId arguments = tuple({storage, m_builder.integer(0), tuple({m_builder.integer(count)}),
            tuple({m_builder.integer(1)}), m_builder.boolean(requiresGrad), hooks});
        if (!m_form.ids)
            return m_builder.reduce(rebuild, arguments);
        const NodeId attributes = m_builder.dict();
        m_builder.setItem(attributes, text("ds_id"), text(id));
        return m_builder.reduce(m_builder.global("torch._tensor", "_rebuild_from_type_v2"),
            tuple({rebuild, m_builder.global("torch", "Tensor"), arguments, attributes}));
    }

    void save()
    {
        const auto stream = emitPickle(m_builder.finish(m_importer.import(m_graph.root())));
        if (!stream)
            throw std::runtime_error(describe(stream.error()));
        NamedRecords records;
        for (const ZipRecord& record : m_file->zip().records()) {
            if (std::find(m_replaced.begin(), m_replaced.end(), record.name) == m_replaced.end())
                records.emplace_back(record.name,
                    record.name == "data.pkl" ? *stream : m_bytes.substr(record.payloadOffset, record.bytes));
        }
        records.insert(records.end(), m_storages.begin(), m_storages.end());
        spill(m_path, buildTorchArchive(records, m_path.stem().string()));
    }

    const Checkpoint& m_checkpoint;
    fs::path m_path;
    const SwapForm& m_form;
    fs::path m_folder;
    std::shared_ptr<const TorchFile> m_file;
    std::string m_bytes;
    const PickleGraph& m_graph;
    PickleBuilder m_builder;
    PickleImporter m_importer;
    NamedRecords m_storages;
    std::vector<std::string> m_replaced; ///< names of records
    std::string m_id;
};

/// The configuration of a run with NVMe offload, and a release where one is asked for.
void describeIn(const fs::path& path, const SwapForm& form)
{
    const auto file = openTorch(path);
    const std::string bytes = slurp(path);
    const PickleGraph& graph = file->pickle();
    PickleBuilder builder;
    PickleImporter importer(builder, graph);
    if (!form.version.empty())
        importer.substitute(lookup(graph, graph.root(), "ds_version"), builder.string(form.version));
    const NodeId offload = builder.dict();
    builder.setItem(offload, builder.string("device"), builder.string(form.device));
    builder.setItem(offload, builder.string("pipeline_read"), builder.boolean(form.pipelined));
    const NodeId zero = lookup(graph, lookup(graph, graph.root(), "ds_config"), "zero_optimization");
    builder.setItem(importer.import(zero), builder.string("offload_optimizer"), offload);
    const auto stream = emitPickle(builder.finish(importer.import(graph.root())));
    if (!stream)
        throw std::runtime_error(describe(stream.error()));
    NamedRecords records;
    for (const ZipRecord& record : file->zip().records())
        records.emplace_back(record.name,
            record.name == "data.pkl" ? *stream : bytes.substr(record.payloadOffset, record.bytes));
    spill(path, buildTorchArchive(records, path.stem().string()));
}

} // namespace

void swapOut(const fs::path& tagFolder, const SwapForm& form)
{
    const CheckpointPtr plain = openPlain(tagFolder);
    for (uint32_t rank = 0; rank < plain->parallel.dp; ++rank) {
        fs::path folder = tagFolder / "offloaded_tensors";
        if (form.depth == SwapForm::Depth::Ranked)
            folder /= fmt::format("rank{:02}", rank);
        RankSwapper(*plain, plain->file(plain->optimFiles[rank]).path, form, std::move(folder)).run();
        describeIn(plain->file(plain->modelFiles[rank]).path, form);
    }
}

std::string swapIdOf(const fs::path& tagFolder, uint32_t number, bool allParams)
{
    return idIn(*openPlain(tagFolder), number, allParams);
}

void makeLive(const fs::path& tagFolder, const fs::path& nvmePath)
{
    for (const auto& entry : fs::directory_iterator(tagFolder / "offloaded_tensors")) {
        const int rank = std::stoi(entry.path().filename().string().substr(4));
        const fs::path to = nvmePath / "zero_stage_3/optimizer" / ("rank" + std::to_string(rank));
        fs::create_directories(to.parent_path());
        fs::rename(entry.path(), to);
    }
    fs::remove_all(tagFolder / "offloaded_tensors");
}

} // namespace shardscope::test
