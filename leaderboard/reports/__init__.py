"""What terminal commands report: in come results and labelled data, out go tables, documents and figures."""
