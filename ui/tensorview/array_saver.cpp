// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/array_saver.h"

#include "core/report/documents/npy_file.h"
#include "ui/text/progress_text.h"
#include "ui/text/text.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QIODevice>
#include <QLabel>
#include <QPushButton>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

NpyElements elementsOf(const ArrayWish& wish)
{
    const TensorSource& source = *wish.source;
    NpyElements out{source.param, source.state, source.dtype, source.shape};
    if (wish.slice && !wish.slice->isWrapped()) {
        out.shape = {wish.slice->rows(), wish.slice->columns()};
        out.first = wish.slice->elementAt({0, 0}).value_or(0);
        out.strides = std::pair(wish.slice->rowStride(), wish.slice->columnStride());
    }
    return out;
}

struct Written {
    QString problem; ///< empty: it was written
    bool isCancelled = false;
    DType dtype = DType::Unknown;
    uint64_t bytes = 0;
};

Written writeArray(io::FileSystem& files, const ArrayWish& wish, const SaveTarget& target, JobContext& job)
{
    Written out;
    std::optional<Error> failed;
    out.problem = saveFile(target, [&](QIODevice& file) {
        const auto report = writeNpy(
            files, *wish.source->checkpoint, elementsOf(wish),
            [&](std::span<const uint8_t> bytes) -> Status {
                const auto size = static_cast<qint64>(bytes.size());
                if (file.write(reinterpret_cast<const char*>(bytes.data()), size) == size)
                    return {};
                return fail(ErrorCode::WriteFailed, file.errorString().toStdString());
            },
            job);
        if (!report) {
            failed = report.error();
            return false;
        }
        out.dtype = report->dtype;
        out.bytes = report->bytes;
        return true;
    });
    out.isCancelled = failed && failed->code == ErrorCode::Cancelled;
    if (failed)
        out.problem = errorText(*failed);
    return out;
}

} // namespace

struct ArraySaver::Stage {
    QString progress;
    std::optional<Written> written;
};

QString ArrayWish::fileName() const
{
    QString name = toText(source->name) % u'.' % toText(source->state) % (slice ? u".slice"_s : QString());
    for (QChar& letter : name) { // what no file system takes, or takes for a folder
        if (u"/\\:*?\"<>|"_s.contains(letter))
            letter = u'_';
    }
    return name % u".npy"_s;
}

ArraySaver::ArraySaver(io::FileSystem& files, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_text(new QLabel(this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
{
    setObjectName(u"arraySaver"_s);
    m_text->setObjectName(u"arraySaverText"_s);
    m_text->setWordWrap(true);
    m_cancel->setObjectName(u"arraySaverCancel"_s);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 2, 8, 4);
    row->addWidget(m_text, 1);
    row->addWidget(m_cancel);
    hide();
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        m_stop.request_stop();
        m_cancel->setEnabled(false);
        m_text->setText(tr("Cancelling…"));
    });
}

ArraySaver::~ArraySaver()
{
    m_stop.request_stop();
}

void ArraySaver::save(ArrayWish wish, SaveTarget target)
{
    m_stop.request_stop();
    m_stop = std::stop_source();
    const QString name = QFileInfo(target.path).fileName();
    m_text->setText(tr("Saving %1…").arg(name));
    m_cancel->setEnabled(true);
    show();
    // Its own stop, and not that of LatestOnly, which would drop the answer: whether the file was written.
    m_writer.run<Stage>(
        [&files = m_files, wish = std::move(wish), target, stop = m_stop.get_token()](
            const std::stop_token& /*token*/, const std::function<void(Stage)>& deliver) {
            JobContext job(stop, [&deliver](const Progress& progress) {
                deliver({progressFacts(progress).join(u" · "_s), {}});
            });
            deliver({{}, writeArray(files, wish, target, job)});
        },
        [this, name, path = target.path, stop = m_stop.get_token()](Stage stage) {
            if (!stage.written) {
                if (!stop.stop_requested())
                    m_text->setText(tr("Saving %1: %2").arg(name, stage.progress));
                return;
            }
            hide();
            const Written& written = *stage.written;
            if (written.isCancelled)
                Q_EMIT told(Severity::Info, tr("Saving was cancelled. %1 was not written.").arg(path));
            else if (!written.problem.isEmpty())
                Q_EMIT told(Severity::Error, tr("The array cannot be saved. %1").arg(written.problem));
            else
                Q_EMIT told(Severity::Info,
                    tr("Saved the array to %1 (%2, %3).")
                        .arg(path, toText(dtypeName(written.dtype)), bytesText(written.bytes)));
        });
}

} // namespace shardscope::ui
