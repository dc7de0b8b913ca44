// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/latest_only.h"

#include "ui/jobs/free_later.h"

#include <QCoreApplication>
#include <QThread>
#include <QThreadPool>

namespace shardscope::ui {

namespace {

QThreadPool& workerPool(WorkLength length)
{
    struct Pools {
        QThreadPool ofShort;
        QThreadPool ofLong;
    };
    static Pools* pools = [] {
        auto* made = new Pools; // never destroyed: no order of destruction to care about
        made->ofShort.setMaxThreadCount(4);
        made->ofLong.setMaxThreadCount(8);
        // Before the application object is destroyed, because workers post to it.
        qAddPostRoutine([] {
            workerPool(WorkLength::Long).waitForDone();
            workerPool(WorkLength::Short).waitForDone();
        });
        return made;
    }();
    return length == WorkLength::Short ? pools->ofShort : pools->ofLong;
}

} // namespace

void freeOnWorker(std::shared_ptr<const void> last)
{
    const QCoreApplication* application = QCoreApplication::instance();
    const bool isGui = application != nullptr && QThread::currentThread() == application->thread();
    if (!isGui || QCoreApplication::closingDown())
        return; // frees it here
    workerPool(WorkLength::Short).start([last = std::move(last)]() mutable { last.reset(); });
}

void LatestOnly::waitForAll()
{
    constexpr int kMostMs = 30'000;
    workerPool(WorkLength::Long).waitForDone(kMostMs);
    workerPool(WorkLength::Short).waitForDone(kMostMs);
}

void LatestOnly::startOnPool(WorkLength length, std::function<void()> work)
{
    workerPool(length).start(std::move(work));
}

void LatestOnly::postToGui(std::function<void()> call)
{
    QMetaObject::invokeMethod(QCoreApplication::instance(), std::move(call), Qt::QueuedConnection);
}

} // namespace shardscope::ui
