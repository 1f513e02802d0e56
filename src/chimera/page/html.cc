#include "chimera/page/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "chimera/base/check.h"
#include "chimera/page/assets.h"
#include "chimera/page/escape.h"
#include "chimera/page/facts.h"
#include "chimera/page/json.h"
#include "chimera/page/run_json.h"

namespace chimera {
namespace {

using FactLists = std::vector<std::vector<Fact>>;  // [run]

// Large numbers for a single run. Several runs are compared in a table.
std::string headlines_html(const std::vector<Fact>& facts) {
  std::string out = "<dl class=\"headlines\" id=\"headlines\">";
  for (const Fact& fact : facts) {
    if (!fact.is_headline) continue;
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>",
                       html_text(fact.label), html_text(fact.value));
  }
  return out + "</dl>\n";
}

const Fact* find_fact(const std::vector<Fact>& facts, const Fact& like) {
  const auto fact =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& other) {
        return other.group == like.group && other.label == like.label;
      });
  return fact == facts.end() ? nullptr : &*fact;
}

// Every (group, label) of any run, in the order of the first that has it.
std::vector<Fact> all_labels(const FactLists& runs) {
  std::vector<Fact> labels;
  for (const char* group :
       {"Result", "Model", "Layout", "Training", "Machine"}) {
    for (const std::vector<Fact>& facts : runs) {
      for (const Fact& fact : facts) {
        if (fact.group != group || find_fact(labels, fact)) continue;
        if (fact.is_headline && runs.size() == 1) continue;  // shown above
        labels.push_back(fact);
      }
    }
  }
  return labels;
}

std::string value_of(const std::vector<Fact>& facts, const Fact& label) {
  const Fact* fact = find_fact(facts, label);
  return fact ? fact->value : "-";
}

bool differs(const Fact& label, const FactLists& runs) {
  const std::string first = value_of(runs[0], label);
  return std::any_of(runs.begin(), runs.end(),
                     [&](const std::vector<Fact>& facts) {
                       return value_of(facts, label) != first;
                     });
}

std::string row_html(const Fact& label, const FactLists& runs) {
  std::string cells;
  for (const std::vector<Fact>& facts : runs) {
    cells += fmt::format("<td>{}</td>", html_text(value_of(facts, label)));
  }
  return fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n",
                     html_text(label.label), cells);
}

// A card for each group of `labels`, with the values of one run.
std::string cards_html(const std::vector<Fact>& labels,
                       const std::vector<Fact>& facts) {
  std::string out;
  std::string group;
  for (const Fact& label : labels) {
    if (label.group != group) {
      if (!group.empty()) out += "</tbody></table></div>\n";
      group = label.group;
      out += fmt::format(
          "<div class=\"card\"><table class=\"facts\"><caption>{}</caption>"
          "<tbody>\n",
          html_text(group));
    }
    out += row_html(label, {facts});
  }
  if (!group.empty()) out += "</tbody></table></div>\n";
  return out;
}

// One table with a column for each run.
std::string table_html(const std::vector<PageRun>& runs,
                       const std::vector<Fact>& labels,
                       const FactLists& facts) {
  std::string out =
      "<div class=\"card scroll\"><table class=\"facts\"><thead><tr>"
      "<td></td>";
  for (std::size_t run = 0; run < runs.size(); ++run) {
    out += fmt::format(
        "<th scope=\"col\"><span class=\"swatch run-{}\"></span>{}</th>",
        run % 8, html_text(runs[run].record.name));
  }
  out += "</tr></thead>";
  std::string group;
  for (const Fact& label : labels) {
    if (label.group != group) {
      if (!group.empty()) out += "</tbody>";
      group = label.group;
      out += fmt::format(
          "<tbody><tr><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
          runs.size() + 1, html_text(group));
    }
    out += row_html(label, facts);
  }
  return out + "</tbody></table></div>\n";
}

// A table of the results and of whatever differs between runs. Below it,
// folded, what all runs have in common.
std::string comparison_html(const std::vector<PageRun>& runs,
                            const FactLists& facts) {
  std::vector<Fact> compared;
  std::vector<Fact> same;
  for (const Fact& label : all_labels(facts)) {
    const bool is_compared = label.is_headline || differs(label, facts);
    (is_compared ? compared : same).push_back(label);
  }
  std::string out = table_html(runs, compared, facts);
  if (same.empty()) return out;
  return out + fmt::format(
                   "<details class=\"same\"><summary>The same in all {} "
                   "runs</summary><div class=\"grid\">{}</div></details>\n",
                   runs.size(), cards_html(same, facts[0]));
}

std::string summary_html(const std::vector<PageRun>& runs) {
  FactLists facts;
  for (const PageRun& run : runs) {
    facts.push_back(facts_of(run.record, run.metrics));
  }
  if (runs.size() > 1) {
    return "<div class=\"stack\">" + comparison_html(runs, facts) + "</div>\n";
  }
  return headlines_html(facts[0]) + "<div class=\"grid\" id=\"facts\">" +
         cards_html(all_labels(facts), facts[0]) + "</div>\n";
}

std::string data_json(const std::vector<PageRun>& runs,
                      const PageOptions& options) {
  std::vector<std::string> items;
  items.reserve(runs.size());
  for (const PageRun& run : runs) {
    items.push_back(run_json(run.record, run.metrics, options.version));
  }
  return JsonObject()
      .text("live", options.live_path)
      .json("curveNames", curve_names_json())
      .json("runs", json_list(items))
      .str();
}

std::string title_of(const std::vector<PageRun>& runs) {
  std::string title = runs[0].record.name;
  if (runs.size() > 1) title += fmt::format(" and {} more", runs.size() - 1);
  return title;
}

}  // namespace

std::string make_page(const std::vector<PageRun>& runs,
                      const PageOptions& options) {
  CHIMERA_CHECK(!runs.empty(), "a page of no run");
  const std::map<std::string_view, std::string> parts = {
      {"title", html_text(title_of(runs))},
      {"style", std::string(kPageStyle)},
      {"summary", summary_html(runs)},
      {"data", data_json(runs, options)},
      {"script", std::string(kPageScript)}};
  // The frame names its parts as @title@. Only the frame is searched, so the
  // inserted text is never interpreted.
  std::string page;
  std::string_view frame = kPageFrame;
  while (true) {
    const std::size_t begin = frame.find('@');
    page += frame.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    const std::size_t end = frame.find('@', begin + 1);
    const auto part = parts.find(frame.substr(begin + 1, end - begin - 1));
    CHIMERA_CHECK(part != parts.end(), "an unknown part of the page's frame");
    page += part->second;
    frame.remove_prefix(end + 1);
  }
}

}  // namespace chimera
