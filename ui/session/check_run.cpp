// SPDX-License-Identifier: Apache-2.0
#include "ui/session/check_run.h"

#include "core/report/answers/check_report.h"
#include "core/report/documents/html_report.h"
#include "core/report/documents/markdown_report.h"
#include "core/report/documents/sarif_report.h"
#include "ui/jobs/free_later.h"
#include "ui/session/far_answers.h"

#include <chrono>

namespace shardscope::ui {

namespace {

constexpr auto kBurst = std::chrono::milliseconds(40);

} // namespace

CheckRun::CheckRun(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
    m_pause.setSingleShot(true);
    m_pause.setInterval(kBurst);
    connect(&m_pause, &QTimer::timeout, this, &CheckRun::changed);
}

CheckRun::~CheckRun()
{
    m_stop.request_stop();
}

void CheckRun::start(CheckPlace place, CheckChoice choice, CheckpointPtr opened)
{
    m_stop.request_stop();
    m_stop = std::stop_source();
    m_place = std::move(place);
    m_choice = std::move(choice);
    m_progress = {};
    m_findings.clear();
    m_result.reset();
    m_error.reset();
    m_running = true;
    m_worker.run<Stage>(
        [&files = m_files, place = m_place, choice = m_choice, opened = std::move(opened), stop = m_stop](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            const std::stop_callback dropped(token, [stop]() mutable { stop.request_stop(); });
            JobContext job(stop.get_token(), [&deliver](const Progress& progress) {
                deliver({progress, {}, {}});
            });
            CheckOptions options;
            options.depth = choice.depth;
            options.skip = choice.skip;
            options.target = choice.target;
            options.open = place.open;
            options.opened = opened;
            auto result = examineAnywhere(files, place, options, job, [&](const DoctorFinding& made) {
                deliver({{}, made, {}});
            });
            deliver({{}, {}, std::move(result)});
        },
        [this](Stage stage) { receive(std::move(stage)); });
    Q_EMIT changed();
}

void CheckRun::receive(Stage stage)
{
    if (stage.progress) {
        m_progress = std::move(*stage.progress);
        Q_EMIT progressChanged();
    }
    if (stage.finding) {
        m_findings.push_back(std::move(*stage.finding));
        if (!m_pause.isActive())
            m_pause.start();
    }
    if (stage.result)
        finish(std::move(*stage.result));
}

void CheckRun::finish(Result<CheckResult> result)
{
    m_running = false;
    m_pause.stop();
    if (result) {
        result->checkpoint = freedOnWorker(std::move(result->checkpoint));
        m_findings = result->findings;
        m_finishedAt = QTime::currentTime();
        m_result = std::make_shared<const CheckResult>(std::move(*result));
    } else if (result.error().code != ErrorCode::Cancelled) {
        m_error = std::move(result).error();
    }
    Q_EMIT changed();
}

void CheckRun::stop()
{
    if (!m_running)
        return;
    m_stop.request_stop();
    Q_EMIT changed();
}

void CheckRun::clear()
{
    m_stop.request_stop();
    m_worker.cancel();
    m_pause.stop();
    m_running = false;
    m_findings.clear();
    m_result.reset();
    m_error.reset();
    Q_EMIT changed();
}

std::vector<io::Path> readAt(const CheckPlace& place)
{
    std::vector<io::Path> out = place.open.roots;
    for (const io::Path& path : {place.path, place.tagFolder}) {
        if (!path.empty())
            out.push_back(path);
    }
    return out;
}

QString writeCheckReport(
    io::FileSystem& files, const CheckToSave& check, CheckReport form, const SaveTarget& target)
{
    const std::vector<CheckResult> results{*check.result};
    const ReportHead head = checkHead(files, results, check.command.toStdString());
    return saveText(target, [&](const TextSink& write) {
        switch (form) {
        case CheckReport::Html:
            return write(htmlReport(results, check.depth, head));
        case CheckReport::Markdown:
            return write(markdownReport(results, check.depth, head));
        case CheckReport::Sarif:
            return write(sarifReport(results, head));
        case CheckReport::Json:
            return writeCheckJson(write, results, check.depth, &head);
        }
    });
}

} // namespace shardscope::ui
