package sql

// reserved are the words that cannot be a column name, a function name or an alias without AS: the ones with which the
// grammar goes on after an expression, or begins one.
var reserved = map[string]bool{
	"select": true, "from": true, "where": true, "as": true, "and": true, "or": true, "not": true, "in": true, "is": true, "like": true,
	"between": true, "case": true, "when": true, "then": true, "else": true, "end": true, "null": true, "true": true, "false": true,
	"cast": true, "distinct": true, "partition": true, "escape": true, "with": true, "into": true, "create": true,
}

// foreign are words of other SQL dialects, and of specs, that users try, with what Pondage has instead.
var foreign = map[string]string{
	"distinct": "groups are made with PARTITION BY; DISTINCT stands in count(DISTINCT x)",
	"group":    "groups are made with PARTITION BY",
	"having":   "filter the rows with WHERE, or the results in a second stream",
	"order":    "a stream has no order; sort when the results are read",
	"limit":    "a stream has no end; limit when the results are read",
	"join":     "joins are not part of the grammar",
	"union":    "make one stream for each query",
	"over":     "windows are a clause of the query: INTERVAL(1h)",
	"ilike":    "use lower(x) LIKE pattern",
	"insert":   "rows come in through a source",
	"update":   "rows come in through a source",
	"delete":   "rows come in through a source",
	"alter":    "drop the object and create it again",
	"table":    "Pondage has sources and streams",
	"view":     "Pondage has sources and streams",
	"webhook":  "a webhook is no target: WITH (outputs.webhook.url = 'https://…')",
}
