# SPDX-License-Identifier: Apache-2.0
#
# What a table answers: awk -v kind=KIND -v policy=POLICY -v plan='VERB FILE VERB FILE...' prints the rows of all finds,
# or with -v only=FILE of that file alone. Numbers are those that awk holds exactly. Read next: soak.sh.

function combine(old, new) {
  if (policy == "replace") return new
  if (policy == "add") return old + new
  if (policy == "min") return new + 0 < old + 0 ? new : old
  if (policy == "max") return new + 0 > old + 0 ? new : old
  return old
}

function insert(key, value) {
  if (kind == "multimap" || kind == "multiset") {
    count[key]++
    all[key, count[key]] = value
  } else if (key in table) {
    table[key] = combine(table[key], value)
  } else {
    table[key] = value
  }
}

function erase(key) {
  delete table[key]
  delete count[key]
}

function find(key, i) {
  if (kind == "multimap") {
    for (i = 1; i <= count[key]; i++) print key "\t" all[key, i]
    if (!count[key]) print key "\t-"
  } else if (kind == "multiset") {
    print key "\t" count[key] + 0
  } else if (kind == "set") {
    print key "\t" (key in table) + 0
  } else if (key in table) {
    print key "\t" table[key]
  } else {
    print key "\t-"
  }
}

BEGIN {
  FS = "\t"
  words = split(plan, word, " ")
  for (w = 1; w < words; w += 2) {
    file = word[w + 1]
    while ((getline < file) > 0) {
      if (word[w] == "insert") insert($1, $2)
      else if (word[w] == "erase") erase($1)
      else if (!only || file == only) find($1)
    }
    close(file)
  }
}
