// SPDX-License-Identifier: Apache-2.0
// How long the parameter table takes to filter and sort: bench_table [PARAMETERS]. Prints figures only.
#include "tests/support/synthetic_checkpoint.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/models/parameters/parameter_table_model.h"

#include <QApplication>
#include <QTableView>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

// Options that are left out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kRounds = 9;

template <class Work>
double milliseconds(const Work& work)
{
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void print(const char* what, double value, size_t rows)
{
    std::printf("  %-36s %8.2f ms  %zu rows\n", what, value, rows);
}

struct Query {
    const char* what;
    QString text;
    ParamColumn column;
    bool descending = false;
};

/// Median of several rounds: the query as the worker runs it, then the table's part of it on the GUI thread.
void timeQuery(const ParameterIndex& index, ParameterTableModel& model, QTableView& view, const Query& asked)
{
    std::vector<double> query;
    std::vector<double> show;
    size_t rows = 0;
    for (int round = 0; round < kRounds; ++round) {
        ParameterRows found;
        query.push_back(milliseconds([&] {
            found = queryRows(index, ParameterFilter::parse(asked.text), asked.column, asked.descending, {});
        }));
        rows = found.rows.size();
        show.push_back(milliseconds([&] {
            model.setRows(std::move(found.rows));
            view.viewport()->repaint();
        }));
    }
    std::sort(query.begin(), query.end());
    std::sort(show.begin(), show.end());
    print(asked.what, query[kRounds / 2], rows);
    print("    shown, on the GUI thread", show[kRounds / 2], rows);
}

} // namespace

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    test::SyntheticOptions options;
    options.params = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 300'000;
    options.ranks = 64;
    const CheckpointPtr checkpoint = test::makeSyntheticCheckpoint(options);
    ParameterIndexPtr index;
    const double built = milliseconds([&] { index = ParameterIndex::build(checkpoint, {}); });
    std::printf("table of %zu parameters, median of %d\n", index->size(), kRounds);
    print("index, once per checkpoint", built, index->size());
    for (const ParamColumn column : {ParamColumn::Name, ParamColumn::Bytes, ParamColumn::Shape}) {
        const double order = milliseconds([&] { (void)index->order(column); });
        print("first order by a column, once", order, index->size());
    }
    ParameterTableModel model;
    model.setIndex(index);
    QTableView view;
    view.setModel(&model);
    view.resize(900, 700);
    view.show();
    QApplication::processEvents();
    using enum ParamColumn;
    timeQuery(*index, model, view, {"all, by name", {}, Name, false});
    timeQuery(*index, model, view, {"all, by size, descending", {}, Bytes, true});
    timeQuery(*index, model, view, {"word: mlp", u"mlp"_s, Name, false});
    timeQuery(*index, model, view, {"pattern: *layers.*.bias", u"*layers.*.bias"_s, Bytes, true});
    timeQuery(*index, model, view, {"expression: /(up|down)_proj/", u"/(up|down)_proj/"_s, Name, false});
    timeQuery(*index, model, view, {"layer:7 size>1K", u"layer:7 size>1K"_s, Name, false});
    return 0;
}
