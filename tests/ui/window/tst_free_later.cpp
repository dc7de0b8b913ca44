// SPDX-License-Identifier: Apache-2.0
// The thread that frees objects released by the window.
#include "tests/ui/ui_tests.h"
#include "ui/jobs/free_later.h"

#include <QTest>

#include <atomic>
#include <thread>

using namespace shardscope::ui;

namespace {

/// Remembers the thread that freed it.
struct Tracked {
    explicit Tracked(std::atomic<std::thread::id>& freedBy)
        : by(freedBy)
    {
    }
    Tracked(const Tracked&) = delete;
    Tracked& operator=(const Tracked&) = delete;
    ~Tracked() { by = std::this_thread::get_id(); }
    std::atomic<std::thread::id>& by;
};

} // namespace

class TestFreeLater : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void neverOnTheGuiThread()
    {
        std::atomic<std::thread::id> freedBy;
        auto kept = freedOnWorker(std::make_shared<const Tracked>(freedBy));
        auto copy = kept;
        QCOMPARE(&copy->by, &freedBy);
        kept.reset();
        QCOMPARE(freedBy.load(), std::thread::id()); // another owner still holds it
        copy.reset();
        QTRY_VERIFY(freedBy.load() != std::thread::id());
        QVERIFY(freedBy.load() != std::this_thread::get_id());
    }

    void atOnceElsewhere()
    {
        std::atomic<std::thread::id> freedBy;
        auto kept = freedOnWorker(std::make_shared<const Tracked>(freedBy));
        std::thread::id worker;
        std::thread thread([&] {
            worker = std::this_thread::get_id();
            kept.reset();
        });
        thread.join();
        QCOMPARE(freedBy.load(), worker);
    }

    void nothingStaysNothing() { QVERIFY(freedOnWorker(std::shared_ptr<const Tracked>()) == nullptr); }
};

SHARDSCOPE_UI_TEST(TestFreeLater, CoreOnly)
#include "tst_free_later.moc"
