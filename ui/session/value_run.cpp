// SPDX-License-Identifier: Apache-2.0
#include "ui/session/value_run.h"

#include "core/compare/digest/tensor_statistics.h"
#include "core/compare/digest/tensor_table.h"
#include "core/doctor/byte_facts.h"
#include "ui/session/far_answers.h"

#include <algorithm>
#include <chrono>

namespace shardscope::ui {

namespace {

constexpr auto kBetweenSnapshots = std::chrono::milliseconds(400);

ReadTensor readTensor(const TensorStatistics& tensor)
{
    return {tensor.tensor.param, tensor.tensor.state, tensor.found.elements, tensor.missing,
        tensor.found.zeros, tensor.found.nans, tensor.found.infinities};
}

/// The tensors whose values are understood, parameters in their order.
std::vector<TensorAsked> readable(const TensorTable& table)
{
    std::vector<TensorAsked> out;
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        if (hasStatistics(entry.dtype))
            out.push_back({entry.param, std::string(entry.state)});
    }
    return out;
}

/// Of one tensor after the other.
Status readAll(io::FileSystem& files, const PlacedCheckpoint& of, const std::vector<TensorAsked>& tensors,
    JobContext& job, const std::function<Status(ReadTensor)>& take)
{
    if (!hostOf(of.place).empty())
        return statisticsThere({files, of.place, *of.checkpoint}, tensors, job,
            [&](const TensorAsked& tensor, const TensorFacts& found) {
                return take({tensor.param, tensor.state, found.read, found.missing, found.zeros, found.nans,
                    found.infinities});
            });
    return computeStatistics(files, {*of.checkpoint, tensors, true}, {}, job,
        [&](const TensorStatistics& tensor) { return take(readTensor(tensor)); });
}

} // namespace

ValueRun::ValueRun(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
}

ValueRun::~ValueRun()
{
    m_stop.request_stop();
}

bool hasSameFiles(const Checkpoint& left, const Checkpoint& right)
{
    return std::ranges::equal(left.files, right.files, [](const CheckpointFile& a, const CheckpointFile& b) {
        return a.path == b.path && a.identity == b.identity;
    });
}

ReadValuesPtr ValueRun::of(const CheckpointPtr& checkpoint) const
{
    return isOf(checkpoint) ? m_values : nullptr;
}

/// Whether it is the checkpoint that is read, or another snapshot of the same files.
bool ValueRun::isOf(const CheckpointPtr& checkpoint) const
{
    if (!m_checkpoint || !checkpoint || m_checkpoint == checkpoint)
        return m_checkpoint && checkpoint;
    return m_checkpoint->tagFolder == checkpoint->tagFolder && !checkpoint->tagFolder.empty()
        && m_checkpoint->params.size() == checkpoint->params.size()
        && hasSameFiles(*m_checkpoint, *checkpoint);
}

void ValueRun::leave(const CheckpointPtr& shown)
{
    if (m_running && !isOf(shown))
        stop();
}

void ValueRun::start(const PlacedCheckpoint& placed)
{
    const CheckpointPtr& checkpoint = placed.checkpoint;
    if (m_running && m_checkpoint == checkpoint)
        return;
    m_stop.request_stop();
    m_stop = std::stop_source();
    m_taker.cancel();
    m_checkpoint = checkpoint;
    m_values.reset();
    m_error.reset();
    m_progress = {};
    m_running = true;
    m_reader.run<Stage>(
        [&files = m_files, checkpoint, place = placed.place, stop = m_stop](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            const std::stop_callback dropped(token, [stop]() mutable { stop.request_stop(); });
            JobContext job(stop.get_token(), [&deliver](const Progress& progress) {
                Stage stage;
                stage.progress = progress;
                deliver(std::move(stage));
            });
            const TensorTable table(checkpoint);
            const std::vector<TensorAsked> tensors = readable(table);
            ReadValues found;
            found.all = table.size();
            auto last = std::chrono::steady_clock::now();
            const auto take = [&](ReadTensor tensor) -> Status {
                SHARDSCOPE_CHECK(job.poll()); // else elements can be missing that were not read to the end
                found.tensors.push_back(std::move(tensor));
                if (const auto now = std::chrono::steady_clock::now(); now - last > kBetweenSnapshots) {
                    last = now;
                    Stage stage;
                    stage.values = std::make_shared<const ReadValues>(found);
                    deliver(std::move(stage));
                }
                return {};
            };
            const Status done = readAll(files, {checkpoint, place}, tensors, job, take);
            Stage end;
            end.values = std::make_shared<const ReadValues>(std::move(found));
            end.isLast = true;
            if (!done && done.error().code != ErrorCode::Cancelled)
                end.error = done.error();
            deliver(std::move(end));
        },
        [this](Stage stage) { receive(std::move(stage)); });
    Q_EMIT changed();
}

void ValueRun::receive(Stage stage)
{
    if (stage.progress) {
        m_progress = std::move(*stage.progress);
        Q_EMIT progressChanged();
    }
    if (stage.values)
        m_values = std::move(stage.values);
    if (stage.isLast) {
        m_error = std::move(stage.error);
        m_running = false;
    }
    if (m_values && !stage.progress)
        Q_EMIT changed();
}

void ValueRun::stop()
{
    m_stop.request_stop();
}

void ValueRun::take(const CheckpointPtr& checkpoint, std::shared_ptr<const ByteFacts> facts)
{
    if (m_running)
        stop();
    m_taker.run<ReadValuesPtr>(
        [checkpoint, facts = std::move(facts)](
            const std::stop_token&, const std::function<void(ReadValuesPtr)>& deliver) {
            auto values = std::make_shared<ReadValues>();
            values->all = facts->tensors.size();
            for (const TensorStatistics& tensor : facts->tensors) {
                if (hasStatistics(tensor.dtype))
                    values->tensors.push_back(readTensor(tensor));
            }
            deliver(std::move(values));
        },
        [this, checkpoint](ReadValuesPtr values) {
            m_reader.cancel();
            m_running = false;
            m_error.reset();
            m_checkpoint = checkpoint;
            m_values = std::move(values);
            Q_EMIT changed();
        });
}

void ValueRun::clear()
{
    m_stop.request_stop();
    m_reader.cancel();
    m_taker.cancel();
    m_running = false;
    m_checkpoint.reset();
    m_values.reset();
    m_error.reset();
}

uint64_t ValueRun::bytesOf(const Checkpoint& checkpoint)
{
    uint64_t bytes = 0;
    for (const FlatUnit& unit : checkpoint.units)
        for (const UnitState& state : unit.states)
            bytes += itemSize(state.dtype) * unit.partition.partitionElements() * unit.partition.ranks();
    for (const WholeTensor& whole : checkpoint.whole)
        if (whole.param != kNoParam)
            bytes += itemSize(whole.dtype) * checkpoint.params[index(whole.param)].elements;
    return bytes;
}

} // namespace shardscope::ui
