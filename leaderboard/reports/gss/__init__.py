"""`divbench metrics gss`: in come submissions to gssbench or their results, out go pair accuracies and a heat map."""
