// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/latest_only.h"

#include "ui/jobs/free_later.h"

#include <QCoreApplication>
#include <QThread>
#include <QThreadPool>

namespace shardscope::ui {

namespace {

/// A separate pool, so that slow opening never delays a filter.
QThreadPool& workerPool()
{
    static QThreadPool* pool = [] {
        auto* made = new QThreadPool;
        made->setMaxThreadCount(8);
        // Before the application object is destroyed, because workers post to it.
        qAddPostRoutine([] { workerPool().waitForDone(); });
        return made;
    }();
    return *pool;
}

} // namespace

void freeOnWorker(std::shared_ptr<const void> last)
{
    const QCoreApplication* application = QCoreApplication::instance();
    const bool isGui = application != nullptr && QThread::currentThread() == application->thread();
    if (!isGui || QCoreApplication::closingDown())
        return; // frees it here
    workerPool().start([last = std::move(last)]() mutable { last.reset(); });
}

void LatestOnly::startOnPool(std::function<void()> work)
{
    workerPool().start(std::move(work));
}

void LatestOnly::postToGui(std::function<void()> call)
{
    QMetaObject::invokeMethod(qApp, std::move(call), Qt::QueuedConnection);
}

} // namespace shardscope::ui
