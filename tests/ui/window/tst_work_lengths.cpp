// SPDX-License-Identifier: Apache-2.0
// Long work never keeps short work waiting.
#include "tests/ui/ui_tests.h"
#include "ui/jobs/latest_only.h"

#include <QTest>

#include <algorithm>
#include <memory>
#include <semaphore>
#include <vector>

using namespace shardscope::ui;

class TestWorkLengths : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void shortWorkNeverWaitsForLongWork()
    {
        constexpr int kMany = 40; // more than there are threads
        std::counting_semaphore<kMany> go(0);
        std::vector<std::unique_ptr<LatestOnly>> blocked;
        for (int i = 0; i < kMany; ++i) {
            blocked.push_back(std::make_unique<LatestOnly>(WorkLength::Long));
            blocked.back()->run<int>(
                [&go](const std::stop_token&, const auto& deliver) {
                    go.acquire();
                    deliver(1);
                },
                [](int) {});
        }
        LatestOnly filter(WorkLength::Short);
        int found = 0;
        filter.run<int>([](const std::stop_token&, const auto& deliver) { deliver(7); },
            [&found](int value) { found = value; });
        const bool came = QTest::qWaitFor([&found] { return found == 7; });
        go.release(kMany);
        QVERIFY(came);
        const auto isDone = [](const auto& one) { return !one->isRunning(); };
        QTRY_VERIFY(std::all_of(blocked.begin(), blocked.end(), isDone));
    }
};

SHARDSCOPE_UI_TEST(TestWorkLengths, CoreOnly)
#include "tst_work_lengths.moc"
